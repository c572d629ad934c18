"""Writing the rows of slots that never reach a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from functions.scheduler.due import Due
from functions.scheduler.ownership import Ownership
from shared.domain.entry import single_entry
from shared.domain.run import Run, RunStatus
from shared.observability.logs import logger_for
from shared.ports import RunStore

_log = logger_for("scheduler")

#: How many rows one turn writes, four calls: an hour of outage leaves as many as there are entries, and what is due now
#: must not wait for them.
ROWS_AT_ONCE = 100
#: A row that the table does not take is tried again after so long.
AGAIN_SECONDS = 10.0


@dataclass(slots=True)
class Recorder:
    """Rows that settle their slot once they are written: skipped gaps and refused dispatches."""

    owned: Ownership
    waiting: list[tuple[Due, Run]] = field(default_factory=list)
    #: The table does not take them; tried again from this monotonic time on.
    _refused: list[tuple[float, Due, Run]] = field(default_factory=list)
    #: Fewer after a call that failed, until a row that the table does not take stands alone.
    _at_once: int = ROWS_AT_ONCE

    def let_go(self, number: int) -> None:
        """The shard is another node's now, who finds its own rows to write."""
        self.waiting = [each for each in self.waiting if each[0].shard != number]
        self._refused = [each for each in self._refused if each[1].shard != number]

    def write_once(self) -> tuple[list[Due], list[Run]]:
        """The slots that are settled by it, and the rows that were not there before. Raises what the table raised: then
        they are written at another turn.
        """
        with self.owned.lock:
            self._wake()
            rows, self.waiting = self.waiting[: self._at_once], self.waiting[self._at_once :]
        if not rows:
            return [], []
        is_done = False
        try:
            written = record(self.owned.ports.runs, rows)
            is_done = True
        finally:
            with self.owned.lock:
                self._end(rows, is_done=is_done)
        return [due for due, _ in rows], written

    def __len__(self) -> int:
        return len(self.waiting) + len(self._refused)

    def _wake(self) -> None:
        at = self.owned.ports.clock.monotonic()
        self.waiting += [(due, row) for again_at, due, row in self._refused if again_at <= at]
        self._refused = [each for each in self._refused if each[0] > at]

    def _end(self, rows: list[tuple[Due, Run]], *, is_done: bool) -> None:
        if is_done:
            self._at_once = min(ROWS_AT_ONCE, 2 * self._at_once)
            return
        # But for those of a shard that was lost meanwhile.
        again = [each for each in rows if each[0].shard in self.owned.shards]
        if len(rows) > 1:
            self.waiting = again + self.waiting
            self._at_once = max(len(rows) // 2, 1)
            return
        # It fails by itself.
        at = self.owned.ports.clock.monotonic() + AGAIN_SECONDS
        self._refused += [(at, due, row) for due, row in again]
        for due, _ in again:
            named = {"job_key": due.entry.job_key, "run_id": due.run_id, "entry_id": due.entry.entry_id}
            _log.warning("row not written", extra={"action": "dispatch.row", **named})


def record(runs: RunStore, rows: Sequence[tuple[Due, Run]]) -> list[Run]:
    """Each where there is none; but a single fire has a row, which waits for this very fire. Answers what was written.
    Raises StoreError, and may be called again with the same then.
    """
    answers = runs.record([row for _, row in rows])
    written = [row for (_, row), is_put in zip(rows, answers, strict=True) if is_put]
    singles = {row.key: (due, row) for due, row in rows if due.entry.schedule is None}
    if not singles:
        return written
    for key, seen in runs.get_many(list(singles)).items():
        due, row = singles[key]
        if _waits_for(seen, due):
            # Who loses against a redrive, or a worker, has nothing to say any more.
            ended = _ended_waiting(seen, row)
            if runs.take_over(ended, seen=seen) is None:
                written.append(ended)
    return written


def _waits_for(run: Run, due: Due) -> bool:
    """A run that was asked to run again since has another entry."""
    entry = single_entry(run, shard=due.shard, lane=due.lane)
    return run.status is RunStatus.WAITING and entry.entry_id == due.entry.entry_id


def _ended_waiting(seen: Run, row: Run) -> Run:
    return replace(
        seen,
        status=row.status,
        token=seen.token + 1,
        ended_at=row.ended_at,
        error=row.error,
        attempts=(),
        expires_at=row.expires_at,
    )
