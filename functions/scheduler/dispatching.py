"""Fires: takes what is due from the wheels, hands it to the queues by tens, and settles what they accepted.

Whatever goes wrong, and wherever: a slot is in a wheel, in the outbox, among the rows, or in flight in a batch that
answers for it. So what can fail is done before a slot is taken, or after it was recorded where it went.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from functions.scheduler.audit import Auditor
from functions.scheduler.counts import Counts
from functions.scheduler.due import Due
from functions.scheduler.outbox import BATCH, Outbox
from functions.scheduler.ownership import Moment, Ownership
from functions.scheduler.recording import Recorder
from functions.scheduler.room import Room
from functions.scheduler.rows import dispatch_of, refused_row, skipped_row
from functions.scheduler.settings import Spread
from functions.scheduler.shard import Shard
from shared.domain.events import run_is_over
from shared.observability.logs import logger_for
from shared.ports import SendReport

_log = logger_for("scheduler")


@dataclass(slots=True)
class Dispatcher:
    owned: Ownership
    outbox: Outbox
    recorder: Recorder
    auditor: Auditor
    counts: Counts
    spread: Spread
    #: The shard that has its turn first: who is behind must not keep the others from theirs.
    _first: int = 0

    def let_go(self, number: int) -> None:
        """The shard is another node's now."""
        self.outbox.drop_shard(number)
        self.recorder.let_go(number)

    @property
    def unsent(self) -> int:
        """Slots that wait for their queue."""
        return len(self.outbox)

    def flush(self) -> None:
        """Send all that waits, while something is accepted. Raises what a queue or the table raised."""
        while self.dispatch_once(hurry=True) and self.unsent:
            pass

    # From the wheels to the outbox -----------------------------------------------------------------------------------

    def tick_once(self) -> None:
        """Move what is due from the wheels to the outbox; nothing when this node may not dispatch."""
        moment, settings = self.owned.moment(), self.owned.settings
        if moment is None:
            return
        with self.owned.lock:
            rows = settings.most_rows - len(self.recorder)
            room = Room(settings.slots_at_once, rows, self.outbox.free_in)
            shards = list(self.owned.shards.values())
            self._first = (self._first + 1) % max(len(shards), 1)
            for shard in shards[self._first :] + shards[: self._first]:
                self._tick(shard, moment, room)

    def _tick(self, shard: Shard, moment: Moment, room: Room) -> None:
        dues = shard.expire(moment.now, room, passed=moment.passed)
        if dues:
            self.outbox.put((due for due in dues if due.gap is None), at=moment.at)
            skipped = [due for due in dues if due.gap is not None]
            retention_ms = self.owned.settings.run_retention_ms
            self.recorder.waiting += [(due, skipped_row(due, moment.now, retention_ms)) for due in skipped]
            self.counts.skipped += sum(due.gap.count for due in skipped if due.gap is not None)
        for entry_id, error in shard.fires.take_failures():
            self.counts.set_aside += 1
            named = {"shard": shard.number, "entry_id": entry_id}
            _log.error("set aside", exc_info=error, extra={"action": "fire.set_aside", **named})

    # From the outbox to the queues -----------------------------------------------------------------------------------

    def dispatch_once(self, *, hurry: bool = False) -> int:
        """Send what waits, by tens, and settle what was accepted; answers how many were. Raises what a queue or the
        table raised, once all others had their turn.

        `hurry` sends batches that are not full yet.
        """
        if not self.owned.may_dispatch:
            return 0
        try:
            return self._send_all(hurry=hurry)
        finally:
            self._write_rows()

    def _send_all(self, *, hurry: bool) -> int:
        with self.owned.lock:
            rows = self.owned.settings.most_rows - len(self.recorder)
            taken = self.outbox.take(at=self.owned.ports.clock.monotonic(), hurry=hurry, rows=rows)
        batches = [
            (lane, dues[first : first + BATCH]) for lane, dues in taken.items() for first in range(0, len(dues), BATCH)
        ]
        # Whoever takes a batch out of here answers for its slots. What nobody took, since there was no thread for it or
        # the spread itself failed, goes back.
        waiting = dict(enumerate(batches))
        faults: list[Exception] = []
        try:
            accepted = sum(self.spread(partial(self._send_next, waiting, faults), list(waiting)))
        finally:
            with self.owned.lock:
                # The last first, since each goes to the front.
                for index in sorted(waiting, reverse=True):
                    self._put_back(*waiting.pop(index))
        if faults:
            raise faults[0]
        return accepted

    def _send_next(self, waiting: dict[int, tuple[str, list[Due]]], faults: list[Exception], index: int) -> int:
        """How many were accepted. What a queue raises is kept: it must not keep other batches from their turn."""
        with self.owned.lock:
            batch = waiting.pop(index, None)
        if batch is None:
            return 0
        try:
            return self._send(*batch)
        except Exception as fault:  # noqa: BLE001 (raised when all batches had their turn)
            faults.append(fault)
            return 0

    def _send(self, lane: str, dues: list[Due]) -> int:
        report = SendReport()
        is_asked = False
        try:
            # Looked at once more: the batches before this one may have taken long, or gone wrong.
            is_asked = self._may_send(lane)
            if is_asked:
                report = self._hand_over(lane, dues)
        finally:
            self._take_report(lane, dues, report)
            if is_asked:
                self._learn(lane, dues, report)
        return len(report.accepted)

    def _may_send(self, lane: str) -> bool:
        with self.owned.lock:
            return self.owned.may_dispatch and not self.outbox.is_paused(lane, self.owned.ports.clock.monotonic())

    def _hand_over(self, lane: str, dues: list[Due]) -> SendReport:
        queue = self.owned.ports.queues.get(lane)
        if queue is None:
            return SendReport(refused=dict.fromkeys(range(len(dues)), f"this deployment has no lane {lane!r}"))
        with self.owned.lock:
            self.counts.dispatched += len(dues)
            epochs = [self.owned.shards[due.shard].lease.epoch if due.shard in self.owned.shards else 0 for due in dues]
        now = self.owned.ports.clock.now()
        return queue.send([dispatch_of(due, epoch, now) for due, epoch in zip(dues, epochs, strict=True)])

    def _take_report(self, lane: str, dues: list[Due], report: SendReport) -> None:
        """Only what was accepted is settled; what was refused becomes a row; the rest is sent again."""
        now, retention_ms = self.owned.ports.clock.now(), self.owned.settings.run_retention_ms
        known = report.accepted | report.refused.keys()
        with self.owned.lock:
            self._put_back(lane, [due for index, due in enumerate(dues) if index not in known])
            self.recorder.waiting += [
                (dues[index], refused_row(dues[index], reason, now, retention_ms))
                for index, reason in report.refused.items()
            ]
            self._settle(dues[index] for index in report.accepted)

    def _learn(self, lane: str, dues: list[Due], report: SendReport) -> None:
        """What the answer says of the queue, for the pauses, the audit and the counts."""
        clock, dice = self.owned.ports.clock, self.owned.ports.randomness.fraction()
        accepted, refused = len(report.accepted), len(report.refused)
        unknown = len(dues) - accepted - refused
        with self.owned.lock:
            is_well = unknown < len(dues)
            self.outbox.answered(lane, is_well=is_well, refuses=refused > 0, at=clock.monotonic(), dice=dice)
            self._remember(dues[index] for index in report.accepted)
            self.counts.accepted += accepted
            self.counts.repeated += unknown
            self.counts.refused += refused
        if unknown or refused:
            counts = {"unknown": unknown, "refused": refused}
            _log.warning("not sent", extra={"action": "dispatch.unsent", "lane": lane, **counts})

    def _write_rows(self) -> None:
        settled, written = self.recorder.write_once()
        with self.owned.lock:
            self._settle(settled, by_row=True)
        self.owned.ports.announcements.add(map(run_is_over, written))

    def _put_back(self, lane: str, dues: list[Due]) -> None:
        """But for those of a shard that was lost meanwhile, whose next owner sends them."""
        self.outbox.put_back(lane, [due for due in dues if due.shard in self.owned.shards])

    def _settle(self, dues: Iterable[Due], *, by_row: bool = False) -> None:
        for due in dues:
            shard = self.owned.shards.get(due.shard)
            if shard is not None:
                shard.settle(due, by_row=by_row)

    def _remember(self, dues: Iterable[Due]) -> None:
        """For the audit, where no entry in memory does."""
        now = self.owned.ports.clock.now()
        for due in dues:
            shard = self.owned.shards.get(due.shard)
            if shard is not None and not due.is_resent and not shard.past.recalls(due):
                self.auditor.accepted(due, now)
