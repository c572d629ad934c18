"""A job: what a user asked for, and the rules by which it changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from shared.domain.instants import DAY, MINUTE, SECOND, Instant
from shared.domain.keys import job_key
from shared.domain.limits import MAX_NAMED_RUNS
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import At, Misfire, Schedule, fire_at, is_slot, missed, next_slot


class JobState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    COMPLETED = "completed"
    CANCELLED = "cancelled"

    @property
    def has_ended(self) -> bool:
        return self in {JobState.COMPLETED, JobState.CANCELLED}


class CancelOutcome(StrEnum):
    CANCELLED_BEFORE_FIRE = "cancelled_before_fire"
    RUNNING = "running"
    ALREADY_ENDED = "already_ended"


@dataclass(frozen=True, slots=True)
class Cancellation:
    """What a DELETE answered: the runs that were alive. Stored, so that a repeat answers the same."""

    outcome: CancelOutcome
    run_ids: tuple[str, ...] = ()
    #: Alive beside those that are named: it is stored in the job's row, which has room for so many names.
    more: int = 0

    @property
    def run_count(self) -> int:
        return len(self.run_ids) + self.more


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and when a failed attempt is repeated; `shared.domain.retry` decides. As it stands here: never."""

    max_attempts: int = 1
    base_ms: int = 2 * SECOND
    factor: float = 2.0
    cap_ms: int = 60 * MINUTE
    max_age_ms: int = DAY
    retry_on: tuple[str, ...] = ()
    never_on: tuple[str, ...] = ()


#: Of a job that says nothing about it: dispatches are at least once, so targets must bear repetition anyway.
DEFAULT_RETRY = RetryPolicy(max_attempts=5)


#: A cancelled row stays at least this long, so that a repeated DELETE finds its answer.
CANCELLED_KEPT_MS = DAY


@dataclass(frozen=True, slots=True)
class Job:
    """The row of table `jobs`. `revision` is the ETag; `generation` rises when schedule, state, misfire or lane change.

    The slots of a generation are those >= `from_at`, which may lie before it was made: a change that moves no slot
    keeps what is owed by then.
    """

    owner_id: str
    job_id: str
    schedule: Schedule
    target: Mapping[str, Any]
    generation: int
    from_at: Instant
    created_at: Instant
    updated_at: Instant
    created_by: str
    updated_by: str
    revision: int = 1
    state: JobState = JobState.ACTIVE
    #: Why Carillon itself paused the job; None whenever a user chose the state.
    state_reason: str | None = None
    name: str = ""
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    payload: Any = None
    lane: str = "default"
    timeout_ms: int = MINUTE
    retry: RetryPolicy = RetryPolicy()
    overlap: str = "allow"
    max_concurrent: int | None = None
    misfire: Misfire = Misfire()
    keep_after_completion_ms: int = 7 * DAY
    cancellation: Cancellation | None = None
    expires_at: Instant | None = None
    #: The instant under which the entry of the current generation was announced; None before there is one.
    entry_at: Instant | None = None
    #: Where the request that made the current generation is traced (`shared.domain.traces`); None when it is not.
    trace: str | None = None
    #: A job of the same id before this one had lower generations. None in rows of earlier versions.
    first_generation: int | None = None
    #: The first generation since the job was last resumed; 0 if it never was.
    resumed_generation: int = 0
    #: Of a paused job: since when.
    paused_at: Instant | None = None
    #: As of when the schedule was read; of the runs that `max_runs` allows, `counted` were planned before. None in rows
    #: of earlier versions.
    read_at: Instant | None = None
    counted: int = 0

    @property
    def job_key(self) -> str:
        return job_key(self.owner_id, self.job_id)

    @property
    def is_one_time(self) -> bool:
        return isinstance(self.schedule, At)

    def has_expired(self, now: Instant) -> bool:
        """It is gone, though its row may be there for a while."""
        return self.expires_at is not None and now >= self.expires_at

    def has_planned(self, generation: int) -> bool:
        """What is of this generation was planned for this job, and not for an earlier one of its id."""
        return generation >= (self.created_at if self.first_generation is None else self.first_generation)

    @property
    def was_rescheduled(self) -> bool:
        """It had another schedule before. Rows of earlier versions do not say so."""
        return self.read_at is not None and self.read_at > self.created_at


def next_generation(previous: int, now: Instant) -> int:
    """Rises even when the clock stands still or goes back."""
    return max(previous + 1, now)


def recreated(job: Job, over: Job) -> Job:
    """`job`, as it is stored over the ended job of the same id: generation and revision go on rising."""
    generation = next_generation(over.generation, job.created_at)
    return replace(job, generation=generation, first_generation=generation, revision=over.revision + 1)


def cancelled(job: Job, *, now: Instant, by: str) -> Job:
    """The job after a DELETE. A completed job becomes cancelled too: that frees its id. What to answer is not known
    yet: an earlier slot of a completed job may be about to start.
    """
    kept_ms = max(job.keep_after_completion_ms, CANCELLED_KEPT_MS)
    return replace(
        job,
        state=JobState.CANCELLED,
        generation=next_generation(job.generation, now),
        from_at=now,
        revision=job.revision + 1,
        updated_at=now,
        updated_by=by,
        cancellation=None,
        expires_at=Instant(now + kept_ms),
    )


def cancellation_of(alive: Sequence[Run]) -> Cancellation:
    """What to answer while these runs are alive: of too many, those that a worker has are named before those that
    wait, which start no more.
    """
    urgent_first = sorted(alive, key=lambda run: (run.status is not RunStatus.RUNNING, run.run_id))
    named = tuple(sorted(run.run_id for run in urgent_first[:MAX_NAMED_RUNS]))
    return Cancellation(CancelOutcome.RUNNING, named, len(alive) - len(named))


def paused(job: Job, *, now: Instant, by: str, reason: str) -> Job:
    """The job after Carillon itself paused it."""
    return replace(
        job,
        state=JobState.PAUSED,
        state_reason=reason,
        generation=next_generation(job.generation, now),
        from_at=first_to_come(job, now),
        paused_at=now,
        revision=job.revision + 1,
        updated_at=now,
        updated_by=by,
    )


#: What a job calls whose target was erased: nothing.
ERASED_TARGET: Mapping[str, Any] = MappingProxyType({"type": "handler", "name": "erased"})


def erased(job: Job, *, now: Instant, by: str) -> Job:
    """The cancelled job without anything its owner wrote. Its row stays until it expires: a job of the same id must get
    a higher generation, or schedulers would take it for an older one.
    """
    if is_erased(job):
        return job
    bare = replace(job, name="", group="", tags={}, payload=None, target=dict(ERASED_TARGET), created_by="")
    return replace(bare, revision=job.revision + 1, updated_at=now, updated_by=by)


def is_erased(job: Job) -> bool:
    return job.state is JobState.CANCELLED and job.target == ERASED_TARGET


def is_last_slot(schedule: Schedule, slot: Instant) -> bool:
    """Nothing is left to fire after this slot."""
    return next_slot(schedule, slot) is None


def first_to_come(job: Job, now: Instant) -> Instant:
    """Since when the slots of the job have their fire still before them: `now`, or the slot before it that fires later
    by its jitter. There is one at most, for a slot fires before the next one is planned.
    """
    schedule = job.schedule
    # Of a one-time job the slot may lie before `from_at`: an `at` a little in the past is accepted.
    first = Instant(max(now - schedule.window_ms, 0 if job.is_one_time else job.from_at))
    last = missed(schedule, Instant(first - 1), Instant(now - 1), newest=1).last
    if last is not None and fire_at(schedule, job.job_key, last) >= now:
        return last
    # By another host's clock it may be active only later.
    return max(now, job.from_at)


#: A pause stops the schedule, and not a person.
_ASKED_FOR = frozenset({RunKind.MANUAL, RunKind.BACKFILL})


def may_run(job: Job | None, slot: Instant, *, generation: int, is_single_fire: bool, kind: RunKind) -> str | None:
    """Why a claimed slot that has not begun must not start (`cancelled`, `paused`, `superseded`); None when it runs.

    Decided by the worker on the job it read *after* its claim, and by `generation`, the one that planned the slot: no
    two hosts' clocks are compared. What was planned for an earlier job of the id is nothing to this one. Of a slot of
    the current generation (`slot >= from_at`) the schedule says whether there is one. One before it was promised by an
    older generation and runs with the current definition, unless the job was paused since.
    """
    if job is None or job.state is JobState.CANCELLED or not job.has_planned(generation):
        return "cancelled"
    if is_single_fire and (kind in _ASKED_FOR or generation >= job.generation):
        return None
    if job.state is JobState.PAUSED:
        return "paused"
    if slot < job.from_at:
        return "paused" if generation < job.resumed_generation else None
    return None if is_single_fire or is_slot(job.schedule, slot) else "superseded"
