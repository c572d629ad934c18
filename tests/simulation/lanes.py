"""A lane as SQS may behave: messages come in any order, late, twice, at two workers at once, or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

from shared.adapters.memory import MemoryDueQueue, SeededRandomness
from shared.domain.instants import Instant
from shared.domain.message import VERSION, Dispatch, decode, encode
from shared.ports import Delivery, SendReport
from tests.simulation.hosts import TrueClock
from tests.simulation.ledger import Ledger
from tests.simulation.profile import Profile


def of_next_version(body: str) -> str:
    """As the next version may write it: with members that this one does not know."""
    return json.dumps(json.loads(body) | {"v": VERSION + 1, "added_later": {"by": "the next version"}})


class SimulatedLane(MemoryDueQueue):
    def __init__(self, clock: TrueClock, random: Random, profile: Profile, ledger: Ledger) -> None:
        super().__init__(clock, SeededRandomness(random.random().hex()))
        self._true = clock
        self._random = random
        self._profile = profile
        self._ledger = ledger
        self.is_healed = False
        #: Called when a message may be received.
        self.waiting: list[Callable[[], None]] = []

    def send(self, dispatches: Sequence[Dispatch], *, is_newer: bool = False) -> SendReport:
        accepted: set[int] = set()
        refused: dict[int, str] = {}
        for index, dispatch in enumerate(dispatches):
            dice = 1.0 if self.is_healed else self._random.random()
            if dice < self._profile.refused:
                refused[index] = "simulated: never to be accepted"
                self._ledger.refused_by_queue(dispatch)
            elif dice < self._profile.refused + self._profile.unsent:
                if self._random.random() < 0.5:
                    self._accept(dispatch, is_newer=is_newer)
            else:
                self._accept(dispatch, is_newer=is_newer)
                accepted.add(index)
        self._tell()
        return SendReport(frozenset(accepted), refused)

    def _tell(self) -> None:
        for call in self.waiting:
            call()

    def _accept(self, dispatch: Dispatch, *, is_newer: bool) -> None:
        self._ledger.accepted_by_queue(dispatch)
        body = of_next_version(encode(dispatch)) if is_newer else encode(dispatch)
        profile, random = self._profile, self._random
        if not self.is_healed and random.random() < profile.purged:
            self._ledger.purged_runs.add(dispatch.key)
            return
        self._put(body, late=not self.is_healed and random.random() < profile.delayed)
        if not self.is_healed and random.random() < profile.duplicated:
            self._put(body, late=random.random() < 0.5)

    def _put(self, body: str, *, late: bool) -> None:
        message_id = self.send_body(body)
        if late:
            delay_ms = self._random.randint(0, self._profile.longest_delay_ms)
            self._messages[message_id].visible_at = Instant(self._true.now() + delay_ms)

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        deliveries = super().receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)
        for delivery in deliveries:
            if not self.is_healed and self._random.random() < self._profile.duplicated / 4:
                # Handed to another worker as well, a moment later.
                self._messages[delivery.message_id].visible_at = Instant(
                    self._true.now() + self._random.randint(0, 500)
                )
                self._tell()
        return deliveries

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        super().hide(delivery, seconds=seconds)
        self._tell()

    def lose_all(self) -> None:
        """Purged by an operator, or expired."""
        for message in self._messages.values():
            self._ledger.purged_runs.add(decode(message.body).key)
        self._messages.clear()

    def next_visible_at(self) -> Instant | None:
        return min((message.visible_at for message in self._messages.values()), default=None)

    def heal(self) -> None:
        """What is still on its way arrives soon."""
        self.is_healed = True
        soon = self._true.now() + 10_000
        for message in self._messages.values():
            if message.receive_count == 0 and message.visible_at > soon:
                message.visible_at = Instant(self._true.now() + self._random.randint(0, 10_000))
        self._tell()
