from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import events_client
from shared.adapters.eventbridge import BridgeEventBus
from shared.adapters.memory import ManualClock, SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.events import Event, EventType
from tests.contract.faults import Faults, Step, refused
from tests.contract.values import NOW
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator


@pytest.fixture
def faulty(emulator_endpoint: str) -> Iterator[tuple[BridgeEventBus, Faults]]:
    with aws_environment(emulator_endpoint):
        client: Any = events_client()
    yield BridgeEventBus(client, "default", Calls(ManualClock(), SeededRandomness())), Faults(client)
    client.close()


def events(count: int) -> list[Event]:
    return [Event(EventType.RUN_SUCCEEDED, NOW, {"run_id": str(number)}) for number in range(count)]


def put(faults: Faults) -> list[list[str]]:
    """The ids of each call."""
    return [[json.loads(entry["Detail"])["run_id"] for entry in call["Entries"]] for call in faults.calls["PutEvents"]]


def test_events_are_put_by_tens(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty
    bus.publish(events(23))
    bus.publish([])

    assert [len(call) for call in put(faults)] == [10, 10, 3]
    entry = faults.calls["PutEvents"][0]["Entries"][0]
    assert (entry["Source"], entry["DetailType"], entry["EventBusName"]) == ("carillon", "run.succeeded", "default")


def test_what_was_not_taken_is_put_again_and_nothing_else(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty

    def fail_second(answer: dict[str, Any]) -> None:
        answer["Entries"][1] = {"ErrorCode": "ThrottlingException", "ErrorMessage": "on purpose"}

    faults.script("PutEvents", Step(answer=fail_second))
    bus.publish(events(3))

    assert put(faults) == [["0", "1", "2"], ["1"]]


def test_a_bus_that_refuses_is_told(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty
    faults.script("PutEvents", refused("AccessDeniedException", 400))

    with pytest.raises(StoreError):
        bus.publish(events(1))
