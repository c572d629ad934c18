"""An entry: the lean row from which a scheduler learns of a job, and the rules of taking it over.

There are three kinds. A *recurring* entry has a schedule and no run_id; it is enumerated. A *single fire* has a run_id:
it exists, so it is unsettled. A *tombstone* has neither: it tells the owner that nothing is left to fire.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import EntryKey, run_id_of
from shared.domain.run import Run, RunKind
from shared.domain.schedules import At, Misfire, Schedule, fire_at, next_slot, slots
from shared.domain.sharding import shard_of


@dataclass(frozen=True, slots=True)
class Entry:
    """The row of table `job_schedules`. No unsettled fire of this entry is earlier than `next_at`."""

    shard: int
    entry_id: str
    job_key: str
    generation: int
    next_at: Instant
    from_at: Instant
    lane: str = "default"
    schedule: Schedule | None = None
    misfire: Misfire = Misfire()
    #: The shard's watermark says nothing yet about this entry.
    fresh: bool = False
    run_id: str | None = None
    #: The planned instant of a single fire.
    slot: Instant | None = None
    attempt: int = 1
    kind: RunKind = RunKind.SCHEDULED
    #: Of a single fire: where the request that asked for it is traced.
    trace: str | None = None

    @property
    def key(self) -> EntryKey:
        return EntryKey(self.shard, self.entry_id)

    @property
    def is_single(self) -> bool:
        """It fires once and is deleted; the one slot of a one-time job is a single fire too."""
        return self.run_id is not None

    @property
    def is_tombstone(self) -> bool:
        return self.schedule is None and self.run_id is None


def entry_id_of(job: Job) -> str:
    """The id of the one entry of this generation of a job."""
    return entry_id_at(job.job_key, job.generation)


def entry_id_at(job_key: str, generation: int) -> str:
    return f"{job_key}#{generation}"


def single_entry(run: Run, *, shard: int, lane: str) -> Entry:
    """The single-fire entry that brings the WAITING run to a worker at its `lease_until`; `shard` is that of its job.

    The token is part of its id: a scheduler that deletes the entry of an earlier attempt, whose dispatch was accepted
    only now, must not delete this one.
    """
    return Entry(
        shard=shard,
        entry_id=f"{run.job_key}#{run.run_id}#{run.token}",
        job_key=run.job_key,
        generation=run.generation,
        next_at=run.lease_until,
        from_at=run.lease_until,
        lane=lane,
        run_id=run.run_id,
        slot=run.slot,
        attempt=run.attempt,
        kind=run.kind,
        trace=run.trace,
    )


def first_slot(job: Job) -> Instant | None:
    """The first slot of the current generation, or None. A one-time slot counts though it lies before `from_at`:
    an `at` a little in the past is accepted.
    """
    if isinstance(job.schedule, At):
        return job.schedule.instant
    return next_slot(job.schedule, Instant(job.from_at - 1))


def entry_of(job: Job, *, shard_count: int, announce_at: Instant | None = None) -> Entry:
    """The entry that announces this generation of `job`: its slots, or a tombstone when nothing is left to fire.

    `announce_at` is now for every change of an existing job, so that the owner's next sweep meets the entry; a new
    job's entry waits under its first fire instead.
    """
    slot = first_slot(job) if job.state is JobState.ACTIVE else None
    shard = shard_of(job.job_key, shard_count)
    if slot is None:
        return Entry(
            shard=shard,
            entry_id=entry_id_of(job),
            job_key=job.job_key,
            generation=job.generation,
            next_at=announce_at if announce_at is not None else job.from_at,
            from_at=job.from_at,
            lane=job.lane,
        )
    is_one_time = isinstance(job.schedule, At)
    due = fire_at(job.schedule, job.job_key, slot)
    return Entry(
        shard=shard,
        entry_id=entry_id_of(job),
        job_key=job.job_key,
        generation=job.generation,
        next_at=due if announce_at is None else min(announce_at, due),
        from_at=job.from_at,
        lane=job.lane,
        schedule=job.schedule,
        misfire=job.misfire,
        fresh=not is_one_time,
        run_id=run_id_of(slot) if is_one_time else None,
        slot=slot if is_one_time else None,
        trace=job.trace if is_one_time else None,
    )


def first_unsettled(entry: Entry, watermark: Instant) -> Instant | None:
    """The take-over rule: the slot at which an owner that loads this entry starts, or None when none is left.

    A single fire is always dispatched. A fresh entry starts at its first slot >= from_at with fire_at >= next_at, since
    the watermark may have passed before the entry became visible. Any other starts behind the watermark, enumerated
    from `watermark - window`, because a slot before the watermark can fire behind it.
    """
    if entry.is_single:
        return entry.slot
    if entry.schedule is None:
        return None
    floor = entry.next_at if entry.fresh else max(watermark + 1, entry.next_at)
    # A slot fires at most `window_ms` later, so no earlier slot can reach the floor.
    start = max(entry.from_at, floor - entry.schedule.window_ms)
    for slot in slots(entry.schedule, Instant(start - 1)):
        if fire_at(entry.schedule, entry.job_key, slot) >= floor:
            return slot
    return None
