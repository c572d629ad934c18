"""Writing the rows of slots that never reach a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from functions.scheduler.due import Due
from shared.domain.entry import single_entry
from shared.domain.run import Run, RunStatus
from shared.ports import RunStore


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
