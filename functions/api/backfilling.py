"""Which slots of the past a backfill runs: pure, over the rows that are there.

A slot of a job is one run, whoever asks for it: the run of a backfill has the id that the schedule's has, so the row
decides between the two, wherever a dispatch of the slot may still be. A slot since the current generation began
(`from`) is left to the schedulers all the same, until a row says that they skipped it: they may only not have come to
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import run_id_of
from shared.domain.run import Run, RunStatus
from shared.domain.schedules import slots

_NEVER_STARTED = frozenset({RunStatus.SKIPPED, RunStatus.CANCELLED})


class Verdict(StrEnum):
    PLANNED = "planned"
    #: It ran, runs, or is waiting to; `retry` runs it again.
    HAS_RUN = "has_run"
    #: The schedulers may still fire it.
    NOT_SETTLED = "not_settled"


@dataclass(frozen=True, slots=True)
class Candidate:
    """`seen` is the row of a slot that never started, whose place the plan takes; `is_planned`: it was taken before."""

    slot: Instant
    verdict: Verdict
    seen: Run | None = None
    is_planned: bool = False

    @property
    def run_id(self) -> str:
        return run_id_of(self.slot)


def slots_of_range(job: Job, *, since: Instant, until: Instant, limit: int) -> tuple[list[Instant], Instant | None]:
    """The first `limit` slots with since <= slot < until, and the one behind them."""
    found: list[Instant] = []
    for slot in takewhile(lambda slot: slot < until, slots(job.schedule, Instant(since - 1))):
        if len(found) == limit:
            return found, slot
        found.append(slot)
    return found, None


def judge(job: Job, slot: Instant, rows: Sequence[Run]) -> Candidate:
    """What a backfill makes of the slot; `rows` are the runs of the range, and of the gap that reaches into it."""
    own = next((run for run in rows if run.run_id == run_id_of(slot)), None)
    if own is not None and not never_started(own):
        return Candidate(slot, Verdict.HAS_RUN)
    was_skipped = own is not None or any(run.gap is not None and run.gap.first <= slot <= run.gap.last for run in rows)
    # A paused job fires nothing: what its pause takes may be run by hand.
    is_live = slot >= job.from_at and job.state is not JobState.PAUSED and not was_skipped
    return Candidate(slot, Verdict.NOT_SETTLED if is_live else Verdict.PLANNED, own)


def never_started(run: Run) -> bool:
    """No attempt at it began, and none will."""
    return run.status in _NEVER_STARTED and not run.has_begun
