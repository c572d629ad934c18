"""What a job owes: the slots of each span in which a schedule held, whatever else was changed meanwhile.

A span goes from the change that set the schedule, or resumed it, to the one that replaced, paused or ended it. It is
worked out from what the API wrote, and from when: not from the `from` of entries and jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shared.domain.instants import Instant
from shared.domain.job import JobState
from shared.domain.keys import RunKey, run_id_of
from shared.domain.schedules import At, fire_at, next_slot, slots
from tests.simulation.generations import Fire, Generation


@dataclass(frozen=True, slots=True)
class Span:
    """`paused` is the pause that it follows, if the schedule was the same before."""

    generations: Sequence[Generation]
    paused: Generation | None
    since: Instant

    @property
    def numbers(self) -> set[int]:
        return {each.job.generation for each in self.generations}

    @property
    def first(self) -> Generation:
        return self.generations[0]

    @property
    def committed_at(self) -> int:
        return self.first.committed_at

    def of_job(self, generations: Sequence[Generation]) -> int:
        """The first generation of this job, as opposed to others of its id."""
        created_at = self.first.job.created_at
        return min(each.job.generation for each in generations if each.job.created_at == created_at)

    def ends_before(self, now: int, *, grace_ms: int, after: Generation | None) -> int:
        """What is due by then is owed, if nothing is owed of what a change overtook within the grace."""
        if after is None:
            return now
        ended_at = self.generations[-1].ended_at or now
        return min(now, ended_at - grace_ms, after.since - 1)

    def fires(self, until: int) -> Iterator[Fire]:
        """Those due by then."""
        schedule, since = self.first.job.schedule, self.since
        if isinstance(schedule, At):
            fire = self._fire(schedule.instant)
            if fire.due <= until:
                yield fire
            return
        start = since if self.paused is None else since - schedule.window_ms
        for slot in slots(schedule, Instant(start - 1)):
            if slot > until:
                return
            fire = self._fire(slot)
            if fire.due <= until and (slot >= since or self._outlasts_the_pause(fire)):
                yield fire

    def last_fire(self, until: int) -> Fire | None:
        """When it is due by then, and nothing is left behind it."""
        last, schedule = None, self.first.job.schedule
        for fire in self.fires(until):
            last = fire
        if last is None or isinstance(schedule, At):
            return last
        return last if next_slot(schedule, last.slot) is None else None

    def _outlasts_the_pause(self, fire: Fire) -> bool:
        """Planned before the pause, to fire after it."""
        return self.paused is not None and fire.slot < self.paused.since and fire.due >= self.since

    def _fire(self, slot: Instant) -> Fire:
        job = self.first.job
        return Fire(RunKey(job.job_key, run_id_of(slot)), slot, fire_at(job.schedule, job.job_key, slot))


def spans_of(generations: Sequence[Generation]) -> Iterator[tuple[Span, Generation | None]]:
    """Each with the generation that ended it."""
    begun = 0
    for index, generation in enumerate(generations):
        following = generations[index + 1] if index + 1 < len(generations) else None
        if following is not None and goes_on(generation, following):
            continue
        if generation.job.state is JobState.ACTIVE:
            since = _since(generations, begun)
            yield Span(generations[begun : index + 1], _pause_before(generations, begun), since), following
        begun = index + 1


def goes_on(before: Generation, after: Generation) -> bool:
    """The same slots are due as before the change."""
    are_active = before.job.state is after.job.state is JobState.ACTIVE
    return are_active and before.job.schedule == after.job.schedule and before.job.created_at == after.job.created_at


def _since(generations: Sequence[Generation], index: int) -> Instant:
    """By the clock of another host a pause may have begun later than it ends."""
    first, before = generations[index], generations[index - 1] if index else None
    is_resumed = before is not None and before.job.state is JobState.PAUSED
    if before is None or not is_resumed or before.job.created_at != first.job.created_at:
        return first.since
    return max(first.since, before.since)


def _pause_before(generations: Sequence[Generation], index: int) -> Generation | None:
    if index < 2 or generations[index - 1].job.state is not JobState.PAUSED:
        return None
    now, then = generations[index].job, generations[index - 2].job
    is_same = now.schedule == then.schedule and then.state is JobState.ACTIVE and now.created_at == then.created_at
    return generations[index - 1] if is_same else None
