from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import fault_of_code
from shared.domain.errors import OutcomeUnknown, StoreError
from shared.domain.events import SOURCE, Event
from shared.domain.instants import to_datetime

#: What PutEvents takes.
BATCH = 10


class BridgeEventBus:
    """`client` is boto3's for `events`."""

    def __init__(self, client: Any, name: str, calls: Calls) -> None:
        self._client = client
        self._name = name
        self._calls = calls

    def publish(self, events: Sequence[Event]) -> None:
        self._calls.in_batches("events.publish", events, BATCH, self._put)

    def _put(self, events: Sequence[Event]) -> list[tuple[Event, StoreError]]:
        answer = self._client.put_events(Entries=[self._entry(event) for event in events])
        found = answer["Entries"]
        if len(found) != len(events):
            return [(event, OutcomeUnknown("events.publish", "not in the answer")) for event in events]
        return [
            (event, fault_of_code("events.publish", each["ErrorCode"], each.get("ErrorMessage", "")))
            for event, each in zip(events, found, strict=True)
            if each.get("ErrorCode")
        ]

    def _entry(self, event: Event) -> dict[str, Any]:
        return {
            "EventBusName": self._name,
            "Source": SOURCE,
            "DetailType": event.type.value,
            "Time": to_datetime(event.at),
            "Detail": json.dumps(event.detail, separators=(",", ":")),
        }
