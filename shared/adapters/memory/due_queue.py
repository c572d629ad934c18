from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock

from shared.domain.instants import SECOND, Instant
from shared.domain.message import Dispatch, encode
from shared.ports.clock import Clock, Randomness
from shared.ports.due_queue import LONGEST_HIDDEN_SECONDS, TRACE_ATTRIBUTE, Delivery, SendReport

#: What SQS allows for one receive.
MAX_RECEIVE = 10


@dataclass(slots=True)
class _Message:
    body: str
    visible_at: Instant
    receive_count: int = 0
    trace: str | None = None


class MemoryDueQueue:
    """One lane. Nobody waits in it: a receive that finds nothing answers at once.

    With `randomness` the messages come in any order, as they may from SQS; without, the oldest first.
    """

    def __init__(self, clock: Clock, randomness: Randomness | None = None, *, delay_ms: int = 0) -> None:
        self._clock = clock
        self._randomness = randomness
        self._delay_ms = delay_ms
        self._lock = RLock()
        self._messages: dict[str, _Message] = {}
        self._sent = 0

    def __len__(self) -> int:
        """All messages: visible, hidden and delayed."""
        return len(self._messages)

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        for dispatch in dispatches:
            self.send_body(encode(dispatch), trace=dispatch.trace)
        return SendReport(accepted=frozenset(range(len(dispatches))))

    def send_body(self, body: str, *, trace: str | None = None) -> str:
        """Put any text in, as another version of Carillon might; answers the message's id."""
        with self._lock:
            self._sent += 1
            message_id = f"message-{self._sent}"
            self._messages[message_id] = _Message(body, Instant(self._clock.now() + self._delay_ms), trace=trace)
            return message_id

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        del wait_seconds
        with self._lock:
            now = self._clock.now()
            visible = [message_id for message_id, message in self._messages.items() if message.visible_at <= now]
            if self._randomness is not None:
                dice = {message_id: self._randomness.fraction() for message_id in visible}
                visible.sort(key=lambda message_id: dice[message_id])
            return [
                self._hand_out(message_id, now, visibility_seconds) for message_id in visible[: min(limit, MAX_RECEIVE)]
            ]

    def _hand_out(self, message_id: str, now: Instant, visibility_seconds: int) -> Delivery:
        message = self._messages[message_id]
        message.receive_count += 1
        message.visible_at = Instant(now + visibility_seconds * SECOND)
        attributes = {"ApproximateReceiveCount": str(message.receive_count)}
        if message.trace is not None:
            attributes[TRACE_ATTRIBUTE] = message.trace
        return Delivery.of(
            message.body,
            message_id=message_id,
            receipt_handle=_handle(message_id, message),
            attributes=attributes,
            received_at=now,
        )

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        with self._lock:
            for delivery in deliveries:
                if self._held(delivery) is not None:
                    del self._messages[delivery.message_id]

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        with self._lock:
            message = self._held(delivery)
            if message is not None:
                hidden_seconds = min(max(int(seconds), 0), LONGEST_HIDDEN_SECONDS)
                message.visible_at = Instant(self._clock.now() + hidden_seconds * SECOND)

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        for delivery in deliveries:
            self.hide(delivery, seconds=seconds)

    def _held(self, delivery: Delivery) -> _Message | None:
        """The message, unless it is gone or was received again since."""
        message = self._messages.get(delivery.message_id)
        if message is None or _handle(delivery.message_id, message) != delivery.receipt_handle:
            return None
        return message


def _handle(message_id: str, message: _Message) -> str:
    return f"{message_id}/{message.receive_count}"
