"""What a change makes of a job's slots: which its next generation owes, and which a pause has taken. Pure.

A change that moves no slot drops none that is owed. What is planned or due in a pause and has not begun is skipped:
after the resume those fire that are planned for later, and one that was planned before the pause and is due only then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from shared.domain.completion import kept_until
from shared.domain.errors import StoredUnreadable
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job, JobState, first_to_come, next_generation
from shared.domain.keys import gap_id_of, run_id_of
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import At, Gap, Schedule, fire_at, is_slot, missed, next_slot

#: The scheduler works by these, so a change of one makes a new generation.
_OF_GENERATION: Final = ("schedule", "state", "misfire", "lane")
#: Two schedules with the same number of slots, and the same newest of them, had the same slots.
_COMPARED: Final = 100
#: The store tells whole seconds; a host's clock may be ahead of it by this much more.
_TOLD_MS, _AHEAD_MS = SECOND, 5 * SECOND


def agreed(now: Instant, store_time: Instant | None) -> Instant:
    """Now, as long as the clocks of this host and of the store agree; else as the store has it."""
    if store_time is None:
        return now
    return Instant(min(max(now, store_time), store_time + _TOLD_MS + _AHEAD_MS))


def first_from(schedule: Schedule, now: Instant) -> Instant:
    """Since when the slots of a schedule count that is new: an `at` may lie a little in the past."""
    return min(now, schedule.instant) if isinstance(schedule, At) else now


def next_generation_of(job: Job, after: Job, now: Instant) -> Job:
    """`after`, which was made of `job`, as the next generation if schedulers must know of the change."""
    if all(getattr(after, name) == getattr(job, name) for name in _OF_GENERATION):
        return after
    after = replace(after, generation=next_generation(job.generation, now))
    if job.state is not JobState.PAUSED:
        is_paused = after.state is JobState.PAUSED
        since = _kept_since(job, after, _first_to_come(job, now), now)
        return replace(after, from_at=since, paused_at=now if is_paused else None)
    if after.state is JobState.PAUSED:
        return replace(after, from_at=_kept_since(job, after, job.from_at, now))
    return _resumed(job, after, now)


def _kept_since(job: Job, after: Job, since: Instant, now: Instant) -> Instant:
    """The slots since then are of the next generation too, where it has the same."""
    return since if _has_same_slots(job, after, since, now) else first_from(after.schedule, now)


def _has_same_slots(job: Job, after: Job, since: Instant, until: Instant) -> bool:
    if job.schedule == after.schedule:
        return True
    if since >= until:
        # Made by a host whose clock was ahead. The slots of another schedule count from now all the same.
        return False
    first, last = Instant(since - 1), Instant(until - 1)
    try:
        old = missed(job.schedule, first, last, newest=_COMPARED)
    except StoredUnreadable:
        return False
    return old == missed(after.schedule, first, last, newest=_COMPARED)


def _first_to_come(job: Job, now: Instant) -> Instant:
    """Of a schedule that cannot be read here nothing is kept: whoever changes it mends it."""
    try:
        return first_to_come(job, now)
    except StoredUnreadable:
        return now


def _resumed(job: Job, after: Job, now: Instant) -> Job:
    paused_at = job.from_at if job.paused_at is None else job.paused_at
    # By another host's clock the pause may have begun later than now.
    now = max(now, paused_at)
    since = _first_to_come(job, now)
    if since >= paused_at or not _has_same_slots(job, after, since, now):
        since = first_from(after.schedule, now) if after.schedule != job.schedule else now
    after = replace(after, from_at=since, paused_at=None, resumed_generation=after.generation)
    if after.schedule == job.schedule and next_slot(after.schedule, Instant(since - 1)) is None:
        # Its time passed while it was paused; active, a one-time job would fire late.
        return replace(after, state=JobState.COMPLETED, expires_at=kept_until(after, now))
    return after


def with_owed(job: Job, after: Job, owed: Instant | None) -> Job:
    """`after` with all that the schedulers have not settled of `job`, which was active: from the slot `owed` on."""
    if owed is None or owed >= after.from_at or not _has_same_slots(job, after, owed, after.from_at):
        return after
    return replace(after, from_at=owed)


def is_resumed(job: Job, after: Job) -> bool:
    return job.state is JobState.PAUSED and after.resumed_generation > job.resumed_generation


def skipped_by_pause(job: Job, after: Job, rows: Sequence[Run], *, retention_ms: int) -> Run | None:
    """The row of all slots that the pause of `job` took, which `after` has ended; None when it took none.

    `rows` are of slots that were due before it: these ran, or have a row of their own.
    """
    until = after.from_at
    if isinstance(job.schedule, At):
        slot = job.schedule.instant
        return _row(job, after, slot, None, retention_ms) if job.from_at <= slot < until else None
    own = {run.slot for run in rows if run.gap is None and run.run_id == run_id_of(run.slot)}
    recorded = {slot for slot in own if is_slot(job.schedule, slot)}
    behind = max((run.gap.last for run in rows if run.gap is not None), default=Instant(0))
    first = _first_unrecorded(job.schedule, Instant(max(job.from_at - 1, behind)), recorded)
    if first is None or first >= until:
        return None
    taken = missed(job.schedule, Instant(first - 1), Instant(until - 1), newest=1)
    assert taken.last is not None
    count = taken.count - sum(first <= slot < until for slot in recorded)
    return _row(job, after, first, Gap(first, taken.last, count), retention_ms)


def _first_unrecorded(schedule: Schedule, after: Instant, recorded: Collection[Instant]) -> Instant | None:
    slot = next_slot(schedule, after)
    while slot is not None and slot in recorded:
        slot = next_slot(schedule, slot)
    return slot


def _row(job: Job, after: Job, slot: Instant, gap: Gap | None, retention_ms: int) -> Run:
    """Of the older generation: the next one may fire the slot after all, if a change brings it back."""
    return Run(
        job_key=job.job_key,
        run_id=run_id_of(slot) if gap is None else gap_id_of(gap.first, gap.last),
        kind=RunKind.SCHEDULED,
        slot=slot,
        fire_at=fire_at(job.schedule, job.job_key, slot),
        status=RunStatus.SKIPPED,
        generation=job.generation,
        token=0,
        ended_at=after.updated_at,
        reason="paused",
        gap=gap,
        expires_at=Instant(after.updated_at + retention_ms),
    )
