"""What becomes of slots that could not be fired in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.schedules.jitter import fire_at
from shared.domain.schedules.missed import Missed
from shared.domain.schedules.slots import next_slot
from shared.domain.schedules.values import At, Every, Schedule

Policy: TypeAlias = Literal["fire_once", "fire_all", "skip"]

#: A stall shorter than this makes nothing late.
LEAST_GRACE_MS = SECOND


@dataclass(frozen=True, slots=True)
class Misfire:
    """`grace_ms`: how late a fire may be and still count as on time; None is for ever, the default of one-time jobs."""

    policy: Policy = "fire_once"
    grace_ms: int | None = MINUTE
    limit: int = 10
    #: Nor later than the next slot fires, though LEAST_GRACE_MS in any case.
    within_gap: bool = False

    @property
    def newest_needed(self) -> int:
        """How many of the newest slots `plan_misfire` must be shown: those it fires and the one before them."""
        return {"fire_once": 1, "fire_all": self.limit, "skip": 0}[self.policy] + 1

    @property
    def least_grace_ms(self) -> int | None:
        """A slot is never missed sooner."""
        return LEAST_GRACE_MS if self.within_gap else self.grace_ms

    def has_missed(self, schedule: Schedule, key: str, slot: Instant, *, now: Instant) -> bool:
        """Whether a slot is past its grace."""
        if self.grace_ms is None:
            return False
        late_ms = now - fire_at(schedule, key, slot)
        if late_ms > self.grace_ms or not self.within_gap or late_ms <= LEAST_GRACE_MS:
            return late_ms > self.grace_ms
        following = next_slot(schedule, slot)
        return following is not None and now > fire_at(schedule, key, following)


#: One-time jobs run however late: "no lost job" outranks punctuality.
ONE_TIME_MISFIRE = Misfire(grace_ms=None)


def default_misfire(schedule: Schedule) -> Misfire:
    """Of a job that says nothing about it: after an outage one slot is caught up, and not a burst of them. So the grace
    is a minute, or the gap to the next slot where that is shorter. Most schedules have but one gap that is.
    """
    if isinstance(schedule, At):
        return ONE_TIME_MISFIRE
    if isinstance(schedule, Every):
        return Misfire(grace_ms=min(max(schedule.interval_ms, LEAST_GRACE_MS), MINUTE))
    return Misfire(within_gap=schedule.has_seconds)


@dataclass(frozen=True, slots=True)
class Gap:
    """Slots that are not fired, recorded as one SKIPPED row."""

    first: Instant
    last: Instant
    count: int


@dataclass(frozen=True, slots=True)
class MisfirePlan:
    """`fire` ascending, all later than `skipped`."""

    fire: tuple[Instant, ...] = ()
    skipped: Gap | None = None


def plan_misfire(policy: Misfire, missed: Missed) -> MisfirePlan:
    """Fire the newest one, the newest `limit`, or none; the rest becomes one gap.

    `missed` must hold `policy.newest_needed` of the newest slots, or the last skipped one has no name (ValueError).
    """
    if missed.count == 0 or missed.first is None:
        return MisfirePlan()
    fired = min(policy.newest_needed - 1, missed.count)
    fire = missed.newest[len(missed.newest) - fired :] if fired else ()
    if fired == missed.count:
        return MisfirePlan(fire)
    if len(missed.newest) <= fired:
        msg = f"{policy.policy} needs the {policy.newest_needed} newest slots, not {len(missed.newest)}"
        raise ValueError(msg)
    last_skipped = missed.newest[len(missed.newest) - fired - 1]
    return MisfirePlan(fire, Gap(missed.first, last_skipped, missed.count - fired))
