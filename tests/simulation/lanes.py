"""A lane as SQS may behave: messages come in any order, late, twice, at two workers at once, or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from shared.adapters.memory import MemoryDueQueue, SeededRandomness
from shared.domain.instants import DAY, MINUTE, SECOND, Instant
from shared.domain.keys import RunKey
from shared.domain.message import VERSION, Dispatch, encode
from shared.domain.run import RunStatus
from shared.ports import Delivery, SendReport
from shared.schema import LANE_RETENTION_DAYS
from tests.simulation.engine import Engine, Task
from tests.simulation.hosts import TrueClock
from tests.simulation.ledger import Ledger
from tests.simulation.profile import Profile

#: Hidden again and again for a run that waits; and what the calls of ports may take.
_LONGEST_IN_FLIGHT_MS = 5 * MINUTE + 15 * SECOND


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
        #: Where messages go that were received too often.
        self.undelivered: SimulatedLane | None = None
        #: By message: when it was sent, as the queue counts its age.
        self._sent_at: dict[str, int] = {}
        self._waiting: dict[Task, None] = {}
        #: By message and attempt: since when it is hidden for a run that waits.
        self._hidden_since: dict[tuple[str, int], int] = {}

    def wait(self, engine: Engine, until: int) -> None:
        """Until a message may be received, or until then."""
        task, visible_at = engine.current, self.next_visible_at()
        assert task is not None
        soon = until if visible_at is None else max(visible_at, engine.now + 20)
        self._waiting[task] = None
        self._engine = engine
        try:
            engine.nap_until(min(until, soon))
        finally:
            self._waiting.pop(task, None)

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
        for task in list(self._waiting):
            self._engine.wake(task)

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
        sent_at = self._true.now()
        if self._profile.aged and self._random.random() < self._profile.aged:
            # It has been in the queue for days, as when the lane had no worker.
            sent_at = Instant(sent_at - LANE_RETENTION_DAYS * DAY + self._random.randint(5, 120) * SECOND)
            body = json.dumps(json.loads(body) | {"enqueued_at": sent_at})
        message_id = self.send_body(body)
        self._sent_at[message_id] = sent_at
        if late:
            delay_ms = self._random.randint(0, self._profile.longest_delay_ms)
            self._messages[message_id].visible_at = Instant(self._true.now() + delay_ms)

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        self._drop_old()
        deliveries = super().receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)
        deliveries = [each for each in deliveries if not self._is_given_up(each)]
        for delivery in deliveries:
            if not self.is_healed and self._random.random() < self._profile.duplicated / 4:
                # Handed to another worker as well, a moment later.
                self._messages[delivery.message_id].visible_at = Instant(
                    self._true.now() + self._random.randint(0, 500)
                )
                self._tell()
        return deliveries

    def _is_given_up(self, delivery: Delivery) -> bool:
        """Received too often: the queue moves the message to the undelivered ones."""
        if self.undelivered is None or delivery.receive_count <= self._profile.most_receives:
            return False
        del self._messages[delivery.message_id]
        self.undelivered.send_body(delivery.body)
        self.undelivered._tell()
        return True

    def _drop_old(self) -> None:
        """What has lain in the queue for days is gone."""
        if self._profile.aged and not self.is_healed:
            oldest = self._true.now() - LANE_RETENTION_DAYS * DAY
            for message_id in [each for each in self._messages if self._sent_at.get(each, oldest) < oldest]:
                self._ledger.expired(_key_in(self._messages.pop(message_id).body))

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        super().hide(delivery, seconds=seconds)
        if self._profile.owner_maximum is not None:
            self._check_in_flight(delivery)
        self._tell()

    def _check_in_flight(self, delivery: Delivery) -> None:
        """A hidden message is in flight, of which a lane bears so many: what waits for long is an entry."""
        run = self._ledger.rows.get(_key_in(delivery.body))
        if run is None or run.status is not RunStatus.WAITING:
            return
        since = self._hidden_since.setdefault((delivery.message_id, run.attempt), self._true.now())
        hidden_ms = self._true.now() - since
        if hidden_ms > _LONGEST_IN_FLIGHT_MS:
            self._ledger.violate("in flight", f"{run.key} waits, and its message is hidden since {hidden_ms} ms")

    def lose_all(self) -> None:
        """Purged by an operator, or expired."""
        for message in self._messages.values():
            self._ledger.purged_runs.add(_key_in(message.body))
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


def _key_in(body: str) -> RunKey:
    """Of a message of any version."""
    document = json.loads(body)
    return RunKey(document["job_key"], document["run_id"])
