"""Which slots an outage missed, without visiting each: ten thousand cost no more than ten."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from shared.domain.instants import Instant
from shared.domain.schedules.slots import count_slots, next_slot, slots
from shared.domain.schedules.values import Schedule


@dataclass(frozen=True, slots=True)
class Missed:
    """The slots of one stretch of time. `newest` holds the last few, ascending; without slots the others are None."""

    count: int
    first: Instant | None
    last: Instant | None
    newest: tuple[Instant, ...]


def missed(schedule: Schedule, after: Instant, until: Instant, *, newest: int) -> Missed:
    """The slots in (after, until], with the last `newest` of them (at least one is looked at for `last`)."""
    count = count_slots(schedule, after, until)
    if count == 0:
        return Missed(0, None, None, ())
    tail_start = _before_last(schedule, after, until, wanted=max(newest, 1), count=count)
    tail = tuple(takewhile(lambda slot: slot <= until, slots(schedule, tail_start)))
    return Missed(count, next_slot(schedule, after), tail[-1], tail[-newest:] if newest else ())


def _before_last(schedule: Schedule, after: Instant, until: Instant, *, wanted: int, count: int) -> Instant:
    """An instant behind which exactly the last `wanted` slots lie; `after` when there are no more than that."""
    if count <= wanted:
        return after
    low, high = after, until
    # Invariant: more than `wanted` slots lie behind `low`, at most `wanted` behind `high`.
    while high - low > 1:
        middle = Instant((low + high) // 2)
        if count_slots(schedule, middle, until) > wanted:
            low = middle
        else:
            high = middle
    return high
