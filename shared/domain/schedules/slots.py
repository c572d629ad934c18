"""The slots of a schedule: which instants, which is next, how many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from shared.domain.instants import DAY, SECOND, Instant
from shared.domain.schedules import intervals
from shared.domain.schedules.cron_parse import parse_cron
from shared.domain.schedules.daylight import ZonedCron
from shared.domain.schedules.matching import EPOCH_ORDINAL, LocalCalendar
from shared.domain.schedules.spans import offset_at
from shared.domain.schedules.values import At, Cron, Dst, Every, Excluded, Schedule

_NO_DAYS: frozenset[int] = frozenset()


def next_slot(schedule: Schedule, after: Instant) -> Instant | None:
    """The first slot strictly later than `after`; None when none is left."""
    start, end = schedule.start_at, schedule.end_at
    if start is not None and start > after:
        after = Instant(start - 1)
    if isinstance(schedule, Cron):
        found = compiled(schedule).next_after(after, excluded_days(schedule.exclude))
    elif isinstance(schedule, Every):
        found = intervals.next_after(schedule, after, excluded_days(schedule.exclude))
    else:
        found = schedule.instant if schedule.instant > after and not _is_excluded(schedule) else None
    return None if found is None or (end is not None and found > end) else found


def last_slot(schedule: Schedule, after: Instant, until: Instant) -> Instant | None:
    """The last slot in (after, until]; None when there is none. A day of seconds costs no more than a day of hours."""
    reach = SECOND
    while (found := next_slot(schedule, start := Instant(max(after, until - reach)))) is None or found > until:
        if start <= after:
            return None
        reach *= 4
    # Invariant: `low` is a slot, and none lies in (high, until].
    low, high = found, until
    while (found := next_slot(schedule, low)) is not None and found <= high:
        low = found
        middle = Instant((low + high) // 2)
        found = next_slot(schedule, middle)
        if found is not None and found <= high:
            low = found
        else:
            high = middle
    return low


def slots(schedule: Schedule, after: Instant) -> Iterator[Instant]:
    """Every slot strictly later than `after`, ascending; endless for most schedules."""
    slot = next_slot(schedule, after)
    while slot is not None:
        yield slot
        slot = next_slot(schedule, slot)


def is_slot(schedule: Schedule, instant: Instant) -> bool:
    """Whether the schedule, as it is now, plans a fire at exactly that instant."""
    return next_slot(schedule, Instant(instant - 1)) == instant


def count_slots(schedule: Schedule, after: Instant, until: Instant) -> int:
    """How many slots lie in (after, until]: arithmetic, so a year of seconds costs no more than a day."""
    if schedule.start_at is not None:
        after = max(after, Instant(schedule.start_at - 1))
    if schedule.end_at is not None:
        until = min(until, schedule.end_at)
    if until <= after:
        return 0
    if isinstance(schedule, Cron):
        return compiled(schedule).count(after, until, excluded_days(schedule.exclude))
    if isinstance(schedule, Every):
        return intervals.count(schedule, after, until, excluded_days(schedule.exclude))
    return int(after < schedule.instant <= until and not _is_excluded(schedule))


def compiled(schedule: Cron) -> ZonedCron:
    """The searchable form of a cron, kept between calls."""
    return _compile(schedule.expression, schedule.timezone, schedule.dst, schedule.has_seconds)


@lru_cache(maxsize=8192)
def _compile(expression: str, zone_name: str, dst: Dst, has_seconds: bool) -> ZonedCron:
    calendar = LocalCalendar(parse_cron(expression, has_seconds=has_seconds))
    return ZonedCron(calendar, zone_name, skips_gaps=dst == "skip")


def excluded_days(exclude: Excluded) -> frozenset[int]:
    """Dates as days since 1970-01-01."""
    return _day_numbers(tuple(day for day, _ in exclude)) if exclude else _NO_DAYS


@lru_cache(maxsize=1024)
def _day_numbers(dates: tuple[date, ...]) -> frozenset[int]:
    return frozenset(day.toordinal() - EPOCH_ORDINAL for day in dates)


def _is_excluded(schedule: At) -> bool:
    if not schedule.exclude:
        return False
    offset = offset_at(schedule.timezone, schedule.instant) if schedule.timezone else 0
    return (schedule.instant + offset) // DAY in excluded_days(schedule.exclude)


def last_of(schedule: Schedule, after: Instant, runs: int, *, horizon: Instant) -> Instant | None:
    """The `runs`-th slot strictly later than `after`; None when it lies beyond `horizon` or does not exist."""
    low, high, missing = after, min(Instant(after + DAY), horizon), runs
    while (found := count_slots(schedule, low, high)) < missing:
        if high == horizon:
            return None
        low, high, missing = high, min(Instant(high + 2 * (high - low)), horizon), missing - found
    # Invariant: the slot is the `missing`-th in (low, high].
    while high - low > 1:
        middle = Instant((low + high) // 2)
        found = count_slots(schedule, low, middle)
        if found < missing:
            low, missing = middle, missing - found
        else:
            high = middle
    return high
