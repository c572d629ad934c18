"""Fires: takes what is due from the wheels, hands it to the queues by tens, and settles what they accepted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from functions.scheduler.audit import Auditor
from functions.scheduler.counts import Counts
from functions.scheduler.due import Due
from functions.scheduler.outbox import BATCH, Outbox
from functions.scheduler.ownership import Ownership
from functions.scheduler.recording import record
from functions.scheduler.rows import dispatch_of, refused_row, skipped_row
from functions.scheduler.settings import Spread
from shared.domain.errors import StoreError
from shared.domain.events import run_is_over
from shared.domain.run import Run
from shared.observability.logs import logger_for
from shared.ports import SendReport

_log = logger_for("scheduler")

#: How many timers one tick takes from a shard's wheel, so that no step takes long.
TICK_LIMIT = 1_000
#: How many rows one turn writes, four calls: an hour of outage leaves as many as there are entries, and what is due now
#: must not wait for them.
ROWS_AT_ONCE = 100


@dataclass(slots=True)
class Dispatcher:
    owned: Ownership
    outbox: Outbox
    auditor: Auditor
    counts: Counts
    spread: Spread
    #: Rows that settle their slot once they are written: skipped gaps and refused dispatches.
    rows: list[tuple[Due, Run]] = field(default_factory=list)

    def let_go(self, number: int) -> None:
        """The shard is another node's now."""
        self.outbox.drop_shard(number)
        self.rows = [(due, row) for due, row in self.rows if due.shard != number]

    @property
    def unsent(self) -> int:
        """Slots that wait for their queue."""
        return len(self.outbox)

    def flush(self) -> None:
        """Send all that waits, while something is accepted. Raises StoreError."""
        while self.dispatch_once(hurry=True) and self.unsent:
            pass

    def tick_once(self) -> None:
        """Move what is due from the wheels to the outbox; nothing when this node may not dispatch."""
        if not self.owned.may_dispatch:
            return
        now, at = self.owned.ports.clock.now(), self.owned.ports.clock.monotonic()
        with self.owned.lock:
            if self.outbox.is_full(at):
                return
            for shard in self.owned.shards.values():
                dues = shard.expire(now, limit=TICK_LIMIT)
                if not dues:
                    continue
                self.outbox.put((due for due in dues if due.gap is None), at=at)
                skipped = [due for due in dues if due.gap is not None]
                self.rows += [(due, skipped_row(due, now, self.owned.settings.run_retention_ms)) for due in skipped]
                self.counts.skipped += sum(due.gap.count for due in skipped if due.gap is not None)

    def dispatch_once(self, *, hurry: bool = False) -> int:
        """Send what waits, by tens, and settle what was accepted; answers how many were. Raises StoreError.

        `hurry` sends batches that are not full yet.
        """
        if not self.owned.may_dispatch:
            return 0
        with self.owned.lock:
            taken = self.outbox.take(at=self.owned.ports.clock.monotonic(), hurry=hurry)
        batches = [
            (lane, dues[first : first + BATCH]) for lane, dues in taken.items() for first in range(0, len(dues), BATCH)
        ]
        accepted = sum(self.spread(self._send, batches))
        self._write_rows()
        return accepted

    def _send(self, batch: tuple[str, list[Due]]) -> int:
        lane, dues = batch
        at = self.owned.ports.clock.monotonic()
        with self.owned.lock:
            # Looked at once more: the batches before this one may have taken long, or gone wrong.
            if not self.owned.may_dispatch or self.outbox.is_paused(lane, at):
                self.outbox.put_back(lane, dues)
                return 0
        report = SendReport()
        try:
            report = self._hand_over(lane, dues)
        finally:
            self._take_report(lane, dues, report)
        return len(report.accepted)

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
        clock, dice = self.owned.ports.clock, self.owned.ports.randomness.fraction()
        now, at = clock.now(), clock.monotonic()
        unknown = [due for index, due in enumerate(dues) if index not in report.accepted | report.refused.keys()]
        with self.owned.lock:
            self.outbox.put_back(lane, unknown)
            self.outbox.answered(lane, is_well=len(unknown) < len(dues), at=at, dice=dice)
            for index, reason in report.refused.items():
                row = refused_row(dues[index], reason, now, self.owned.settings.run_retention_ms)
                self.rows.append((dues[index], row))
            self._settle(dues[index] for index in report.accepted)
            self._remember(dues[index] for index in report.accepted)
            self.counts.accepted += len(report.accepted)
            self.counts.repeated += len(unknown)
            self.counts.refused += len(report.refused)
        if unknown or report.refused:
            counts = {"unknown": len(unknown), "refused": len(report.refused)}
            _log.warning("not sent", extra={"action": "dispatch.unsent", "lane": lane, **counts})

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
            if shard is not None and not due.is_resent and not shard.recalls(due):
                self.auditor.accepted(due, now)

    def _write_rows(self) -> None:
        with self.owned.lock:
            rows, self.rows = self.rows[:ROWS_AT_ONCE], self.rows[ROWS_AT_ONCE:]
        if not rows:
            return
        try:
            written = record(self.owned.ports.runs, rows)
        except StoreError:
            with self.owned.lock:
                self.rows = rows + self.rows
            raise
        self.owned.ports.announcements.add(map(run_is_over, written))
        with self.owned.lock:
            self._settle((due for due, _ in rows), by_row=True)
