"""Slots of `Every`: anchored, so a late or long run never shifts the next one."""

from __future__ import annotations

from collections.abc import Collection

from shared.domain.instants import DAY, LAST_INSTANT, Instant
from shared.domain.schedules.values import Every


def next_after(every: Every, after: int, excluded_days: Collection[int]) -> Instant | None:
    """The first slot later than `after` on a UTC day that is not excluded; None past the year 9999."""
    slot = _first_from(every, after + 1)
    while slot // DAY in excluded_days:
        slot = _first_from(every, (slot // DAY + 1) * DAY)
    return Instant(slot) if slot <= LAST_INSTANT else None


def count(every: Every, after: int, until: int, excluded_days: Collection[int]) -> int:
    """How many slots lie in (after, until]."""
    start, end = after + 1, min(until, LAST_INSTANT) + 1
    total = _count_between(every, start, end)
    for day in excluded_days:
        total -= _count_between(every, max(start, day * DAY), min(end, (day + 1) * DAY))
    return total


def _first_from(every: Every, earliest: int) -> int:
    steps = -(-(earliest - every.anchor) // every.interval_ms)
    return every.anchor + max(steps, 0 if every.includes_anchor else 1) * every.interval_ms


def _count_between(every: Every, start: int, end: int) -> int:
    """Slots in [start, end)."""
    if end <= start:
        return 0
    return max(0, (_first_from(every, end) - _first_from(every, start)) // every.interval_ms)
