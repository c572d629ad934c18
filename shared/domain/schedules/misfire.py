"""What becomes of slots that could not be fired in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from shared.domain.instants import MINUTE, Instant
from shared.domain.schedules.missed import Missed

Policy: TypeAlias = Literal["fire_once", "fire_all", "skip"]


@dataclass(frozen=True, slots=True)
class Misfire:
    """`grace_ms`: how late a fire may be and still count as on time; None is for ever, the default of one-time jobs."""

    policy: Policy = "fire_once"
    grace_ms: int | None = MINUTE
    limit: int = 10

    @property
    def newest_needed(self) -> int:
        """How many of the newest slots `plan_misfire` must be shown: those it fires and the one before them."""
        return {"fire_once": 1, "fire_all": self.limit, "skip": 0}[self.policy] + 1

    def has_missed(self, fire_at: Instant, *, now: Instant) -> bool:
        """Whether a fire planned for then is past its grace."""
        return self.grace_ms is not None and now - fire_at > self.grace_ms


#: One-time jobs run however late: "no lost job" outranks punctuality.
ONE_TIME_MISFIRE = Misfire(grace_ms=None)


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
