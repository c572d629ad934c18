"""When the end of a run leaves its job nothing to do."""

from __future__ import annotations

from collections.abc import Collection

from shared.domain.entry import first_slot
from shared.domain.instants import HOUR, Instant
from shared.domain.job import Job, JobState, is_last_slot
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import is_slot, next_slot
from shared.domain.schedules.missed import missed

_OF_SCHEDULE = frozenset({RunKind.SCHEDULED, RunKind.CATCH_UP})
#: What a run may take on top of its policy: messages that come late, workers that die.
_SLACK_MS = HOUR


def completes(job: Job | None, run: Run, status: RunStatus) -> bool:
    """This end leaves the job nothing to fire."""
    return (
        job is not None
        and job.has_planned(run.generation)
        and job.state is JobState.ACTIVE
        and (status.is_final or status is RunStatus.CANCELLED)
        and run.kind in _OF_SCHEDULE
        and _leaves_nothing(job, run.slot)
    )


def _leaves_nothing(job: Job, slot: Instant) -> bool:
    """It is the last one. A slot of another schedule, which the job had before, is so only where this one has none."""
    return is_last_slot(job.schedule, slot) and (is_slot(job.schedule, slot) or first_slot(job) is None)


def perhaps_over(job: Job | None, run: Run, status: RunStatus, *, reason: str | None, now: Instant) -> Instant | None:
    """The last slot of a job whose schedule is over, where this end may complete it: `is_over` tells, of its row.

    A job whose runs exclude each other leaves its last slot out while an earlier run goes on. It is not over then: who
    ends last completes it. So each end looks at the rows after it wrote its own, and the later of two sees the other.
    """
    if job is None or job.state is not JobState.ACTIVE or job.overlap == "allow" or status.is_alive:
        return None
    if status is RunStatus.SKIPPED and reason != "overlap":
        return None
    coming = next_slot(job.schedule, run.slot)
    if coming is not None and (coming > now or next_slot(job.schedule, now) is not None):
        return None
    # An `at` may lie a little before the job was made.
    since = min(job.created_at, job.from_at)
    return missed(job.schedule, Instant(since - 1), now, newest=1).last


def is_over(last: Run | None, alive: Collection[Run], run: Run) -> bool:
    """The last slot was left out for another run, and besides `run`, which has ended, none of the job's is alive.

    Somebody may have asked for that slot since (a backfill): then its row says how that went.
    """
    if last is None or last.status.is_alive or (last.status is RunStatus.SKIPPED and last.reason != "overlap"):
        return False
    return all(other.run_id == run.run_id for other in alive)


def kept_until(job: Job, ended_at: Instant) -> Instant:
    """When the row of a job goes that is completed now. Not before a run of one of its earlier slots is over, which may
    still wait for its next attempt and needs the definition for it: also one of the schedule that it had before.
    """
    has_one_slot = job.is_one_time and not job.was_rescheduled
    longest_ms = 0 if has_one_slot else job.retry.max_age_ms + job.timeout_ms + _SLACK_MS
    return Instant(ended_at + max(job.keep_after_completion_ms, longest_ms))
