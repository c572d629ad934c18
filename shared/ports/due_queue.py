from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from shared.domain.errors import MessageUnreadable
from shared.domain.instants import SECOND, Instant
from shared.domain.message import Dispatch, decode

#: The system attribute of a message that says where it is traced: AWS reads it too, and it costs nothing of the body.
TRACE_ATTRIBUTE: Final = "AWSTraceHeader"
#: What SQS allows, counted from the receive.
LONGEST_HIDDEN_SECONDS: Final = 43_200


@dataclass(frozen=True, slots=True)
class SendReport:
    """What is known of each dispatch, by its index in the call.

    What stands in neither may have been sent: send it again.
    """

    accepted: frozenset[int] = frozenset()
    #: Refused by the sender's own fault, with the reason: it will never be accepted.
    refused: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One receive of one message. `dispatch` is None when the body is unreadable; `body` keeps it, and `is_newer` says
    whether a later version may read it.
    """

    message_id: str
    receipt_handle: str
    body: str
    dispatch: Dispatch | None
    received_at: Instant
    receive_count: int = 1
    is_newer: bool = False

    @classmethod
    def of(
        cls, body: str, *, message_id: str, receipt_handle: str, attributes: Mapping[str, str], received_at: Instant
    ) -> Delivery:
        """As a queue or an event source hands it over, with the system attributes of SQS."""
        is_newer = False
        try:
            dispatch = decode(body)
        except MessageUnreadable as unreadable:
            dispatch, is_newer = None, unreadable.is_newer
        trace = attributes.get(TRACE_ATTRIBUTE)
        if dispatch is not None and trace is not None:
            dispatch = replace(dispatch, trace=trace)
        count = int(attributes.get("ApproximateReceiveCount", 1))
        return cls(message_id, receipt_handle, body, dispatch, received_at, count, is_newer)


class ReceivedMessages(Protocol):
    """What becomes of messages that were received."""

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        """The messages are done with. A stale handle is no failure: the message comes again and is a duplicate."""
        ...

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        """Show the message again no earlier than in `seconds`, 0 to LONGEST_HIDDEN_SECONDS; a stale handle is no
        failure.
        """
        ...

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        """`hide` each of them, by tens. Raises StoreError when one was not, after all others were."""
        ...


class DueQueue(ReceivedMessages, Protocol):
    """One lane: at-least-once, unordered, and fair between owners."""

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        """Hand them over by tens. Only what the queue confirmed is accepted; a part that failed raises nothing."""
        ...

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        """At most `limit` (<= 10) messages, waiting up to `wait_seconds` (<= 20) for the first.

        Each is then hidden from others for `visibility_seconds`.
        """
        ...


def hidden_seconds_until(instant: Instant, *, now: Instant) -> int:
    """Whole seconds, rounded up and at least one, as far as a message may be hidden."""
    return min(max(-((now - instant) // SECOND), 1), LONGEST_HIDDEN_SECONDS)
