"""The generations of a job, and the slots that each plans: worked out from the job, not from its entries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey, run_id_of
from shared.domain.schedules import At, fire_at, slots


@dataclass(slots=True)
class Fire:
    key: RunKey
    slot: Instant
    due: Instant


@dataclass(eq=False, slots=True)
class Generation:
    """One generation of a job, from its commit until the next one's."""

    job: Job
    committed_at: int
    #: When the API made the change, by its own clock.
    since: Instant
    #: True time at which the API told its caller, and what it named.
    answered_at: int | None = None
    named: frozenset[str] = frozenset()
    #: What the answer only counted, for it had no room for more names.
    unnamed: frozenset[str] = frozenset()
    ended_at: int | None = None
    #: How many of its fires are known to be settled.
    settled: int = 0
    _fires: list[Fire] = field(default_factory=list)
    _rest: Iterator[Instant] | None = None
    _is_complete: bool = False

    def fire(self, index: int) -> Fire | None:
        """Its fires in order; None behind the last."""
        while len(self._fires) <= index and not self._is_complete:
            self._grow()
        return self._fires[index] if index < len(self._fires) else None

    def last_fire(self) -> Fire | None:
        """None when there is none, or none is known to be the last: a schedule without an end is not followed."""
        return self._fires[-1] if self._is_complete and self._fires else None

    def _grow(self) -> None:
        job = self.job
        if job.state is not JobState.ACTIVE:
            self._is_complete = True
        elif isinstance(job.schedule, At):
            self._fires = [self._fire_of(job.schedule.instant)]
            self._is_complete = True
        else:
            if self._rest is None:
                self._rest = slots(job.schedule, Instant(job.from_at - 1))
            slot = next(self._rest, None)
            if slot is None:
                self._is_complete = True
            else:
                self._fires.append(self._fire_of(slot))

    def _fire_of(self, slot: Instant) -> Fire:
        job = self.job
        return Fire(RunKey(job.job_key, run_id_of(slot)), slot, fire_at(job.schedule, job.job_key, slot))
