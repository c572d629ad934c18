"""An entry: the lean row from which a scheduler learns of a job, and the rules of taking it over.

There are three kinds. A *recurring* entry has a schedule and no run_id; it is enumerated. A *single fire* has a run_id:
it exists, so it is unsettled. A *tombstone* has neither: it tells the owner that nothing is left to fire.

An entry is *announced*: put under the instant at which a scheduler is to meet it, which its id begins with. Most stay
there until they are deleted. One that fires far ahead is *parked* by the scheduler: it then lies by itself, under an id
without an instant, and moves on as often as it fires. So only parked entries need an index by instant, and the others,
each one-time job and each retry among them, cost no index write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import EntryKey, announced_id, run_id_of, schedule_name
from shared.domain.run import Run, RunKind
from shared.domain.schedules import At, Misfire, Schedule, fire_at, first_to_fire, next_slot
from shared.domain.sharding import shard_of
from shared.domain.timing import ACCEPTED_PAST_MS


@dataclass(frozen=True, slots=True)
class Entry:
    """The row of table `job_schedules`. Its slots are those >= `from_at`; of a parked one no unsettled fire is earlier
    than `next_at`.
    """

    shard: int
    entry_id: str
    job_key: str
    generation: int
    next_at: Instant
    from_at: Instant
    lane: str = "default"
    schedule: Schedule | None = None
    misfire: Misfire = Misfire()
    #: The shard's watermark says nothing about this entry: it may have passed while no owner had it in memory.
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

    @property
    def is_spoken_for(self) -> bool:
        """The shard's watermark speaks for it."""
        return not (self.fresh or self.is_single)

    def read(self) -> Entry:
        """Of an entry as it was stored: it is read already."""
        return self


def single_entry(run: Run, *, shard: int, lane: str) -> Entry:
    """The single-fire entry that brings the WAITING run to a worker at its `lease_until`; `shard` is that of its job.

    The token is part of its id: a scheduler that deletes the entry of an earlier attempt, whose dispatch was accepted
    only now, must not delete this one.
    """
    return Entry(
        shard=shard,
        entry_id=announced_id(run.lease_until, f"{run.job_key}#{run.run_id}#{run.token}"),
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


def announce(job: Job, *, shard_count: int, at: Instant | None = None) -> tuple[Job, Entry]:
    """The job, which has a new generation, and its entry: both are to be written as they are answered."""
    entry = entry_of(job, shard_count=shard_count, announce_at=at)
    return replace(job, entry_at=entry.next_at), entry


def entry_of(job: Job, *, shard_count: int, announce_at: Instant | None = None) -> Entry:
    """The entry that announces this generation of `job`: its slots, or a tombstone when nothing is left to fire.

    `announce_at` is now for every change of an existing job, so that the owner's next sweep meets the entry; a new
    job's entry waits under its first fire instead.
    """
    slot = first_slot(job) if job.state is JobState.ACTIVE else None
    shard = shard_of(job.job_key, shard_count)
    name = schedule_name(job.job_key, job.generation)
    if slot is None:
        next_at = announce_at if announce_at is not None else job.from_at
        return Entry(
            shard=shard,
            entry_id=announced_id(next_at, name),
            job_key=job.job_key,
            generation=job.generation,
            next_at=next_at,
            from_at=job.from_at,
            lane=job.lane,
        )
    is_one_time = isinstance(job.schedule, At)
    due = fire_at(job.schedule, job.job_key, slot)
    # Under the fire itself if it is owed, for this host's clock may be ahead; but no sweep looks back for long.
    is_seen = announce_at is None or announce_at - ACCEPTED_PAST_MS <= due < announce_at
    next_at = due if announce_at is None or is_seen else announce_at
    return Entry(
        shard=shard,
        entry_id=announced_id(next_at, name),
        job_key=job.job_key,
        generation=job.generation,
        next_at=next_at,
        from_at=job.from_at,
        lane=job.lane,
        schedule=job.schedule,
        misfire=job.misfire,
        fresh=not is_one_time,
        run_id=run_id_of(slot) if is_one_time else None,
        slot=slot if is_one_time else None,
        trace=job.trace if is_one_time else None,
    )


def entry_keys(job: Job, *, shard_count: int) -> tuple[EntryKey, ...]:
    """Where the entry of this generation of `job` can lie: where it was announced, or else where it is parked."""
    assert job.entry_at is not None, "a stored job was announced"
    name = schedule_name(job.job_key, job.generation)
    announced = EntryKey(shard_of(job.job_key, shard_count), announced_id(job.entry_at, name))
    return (announced, announced.parked) if _may_be_parked(job) else (announced,)


def _may_be_parked(job: Job) -> bool:
    """A tombstone is not, nor is a one-time job that was announced under its fire."""
    if job.state in {JobState.PAUSED, JobState.CANCELLED}:
        return False
    if not isinstance(job.schedule, At):
        return True
    return job.entry_at != fire_at(job.schedule, job.job_key, job.schedule.instant)


def first_unsettled(entry: Entry, watermark: Instant) -> Instant | None:
    """The take-over rule: the slot at which an owner that loads this entry starts, or None when none is left.

    A single fire is always dispatched. A fresh entry starts at its first slot >= from_at, since the watermark may have
    passed before the entry became visible; a parked one of these that fire at next_at or later. Any other starts behind
    the watermark: at a slot before it, where that fires behind it.
    """
    if entry.is_single:
        return entry.slot
    if entry.schedule is None:
        return None
    parked_under = entry.next_at if entry.key.is_parked else entry.from_at
    floor = parked_under if entry.fresh else Instant(max(watermark + 1, parked_under))
    return first_to_fire(entry.schedule, entry.job_key, since=entry.from_at, floor=floor)
