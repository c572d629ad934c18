"""The two day fields and how they combine: plain values plus `L`, `L-n`, `LW` and `nW` for dates, `nL` and `n#k`
for weekdays.

If either field starts with a star (or is `?`) a day must satisfy both; otherwise one is enough (crontab(5)).
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from functools import lru_cache

from shared.domain.schedules.cron_fields import DAYS, Field, LoneStep, read_number, read_values, refused

_NTH = re.compile(r"(?P<day>[0-9]{1,4}|[A-Z]{3})#(?P<nth>[0-9]{1,4})")
_LAST = re.compile(r"(?P<day>[0-9]{1,4}|[A-Z]{3})L")
_BEFORE_LAST = re.compile(r"L(?:-(?P<days>[0-9]{1,4}))?")
_NEAREST = re.compile(r"(?P<day>[0-9]{1,4})W")
_MAX_NTH = 5
_WEEK = 7
_SATURDAY = 6


@dataclass(frozen=True, slots=True)
class MonthDays:
    """Days of the month. `before_last` holds n of each `L-n`, 0 for `L`; `nearest` is n of `nW`; `last_weekday` is
    `LW`.
    """

    text: str
    numbers: tuple[int, ...] = ()
    before_last: tuple[int, ...] = ()
    last_weekday: bool = False
    nearest: int | None = None


@dataclass(frozen=True, slots=True)
class WeekDays:
    """Days of the week, 0 = Sunday. `nth` holds (day, k), with k = 0 for the last of the month."""

    text: str
    numbers: tuple[int, ...] = ()
    nth: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class DayRule:
    """Which days match, for every shape a month can have."""

    month_days: MonthDays
    week_days: WeekDays

    @property
    def needs_both(self) -> bool:
        return self.month_days.text[0] in "*?" or self.week_days.text[0] in "*?"


def read_month_days(text: str) -> MonthDays:
    """Raises InvalidRequest. `text` is upper case."""
    if text == "?":
        return MonthDays("?", tuple(range(1, 32)))
    if text == "LW":
        return MonthDays("LW", last_weekday=True)
    nearest = _NEAREST.fullmatch(text)
    if nearest:
        day = read_number(DAYS, nearest["day"])
        return MonthDays(f"{day}W", nearest=day)
    if "W" in text:
        raise refused(f"day of month field: {text!r}: W stands alone behind one day, such as 15W, or as LW")
    parts = text.split(",")
    ends = [_read_before_last(part) for part in parts]
    plain = [part for part, end in zip(parts, ends, strict=True) if end is None]
    try:
        values = read_values(DAYS, ",".join(plain)) if plain else None
    except LoneStep as lone:
        raise LoneStep(str(lone), ",".join([lone.meant, *(part for part in parts if part not in plain)])) from None
    spelled = iter(values.text.split(",") if values else ())
    return MonthDays(
        ",".join(next(spelled) if end is None else f"L-{end}" if end else "L" for end in ends),
        values.numbers if values else (),
        before_last=tuple(sorted({end for end in ends if end is not None})),
    )


def _read_before_last(part: str) -> int | None:
    """How many days before the last of the month; None when the part says nothing of the last."""
    found = _BEFORE_LAST.fullmatch(part)
    if found is None:
        return None
    days = int(found["days"] or 0)
    if days >= DAYS.high:
        raise refused(f"day of month field: {part!r}: no month has a day {days} before its last; use L-1 to L-30")
    return days


def read_week_days(kind: Field, text: str) -> WeekDays:
    """Raises InvalidRequest. `text` is upper case; `kind` says how the dialect numbers the days."""
    if text == "?":
        return WeekDays("?", tuple(range(_WEEK)))
    parts = text.split(",")
    special = [part for part in parts if "#" in part or _LAST.fullmatch(part)]
    if not special:
        values = read_values(kind, text)
        return WeekDays(values.text, tuple(sorted((number - kind.low) % _WEEK for number in values.numbers)))
    if len(special) != len(parts):
        raise refused(f"day of week field: {text!r} mixes whole weekdays with single ones (# or L); make them two jobs")
    found = [_read_nth(kind, part) for part in parts]
    return WeekDays(",".join(spelling for _, spelling in found), nth=tuple(nth for nth, _ in found))


def check_mixture(days: MonthDays, weekdays: WeekDays) -> None:
    """Refuse day pairs that cron implementations read in different ways. Raises InvalidRequest."""
    if days.text == weekdays.text == "?":
        raise refused("only one of the two day fields can be ?")
    if weekdays.nth and days.text[0] not in "*?":
        raise refused(
            f"day of month {days.text!r} together with day of week {weekdays.text!r} has no agreed meaning; "
            "put * in the day of month field or make two jobs"
        )
    if (days.nearest or days.last_weekday) and weekdays.text[0] not in "*?":
        raise refused(
            f"day of month {days.text!r} together with day of week {weekdays.text!r} has no agreed meaning; "
            "put * in the day of week field or make two jobs"
        )


def _read_nth(kind: Field, part: str) -> tuple[tuple[int, int], str]:
    last = _LAST.fullmatch(part)
    if last:
        day = read_number(kind, last["day"])
        return ((day - kind.low) % _WEEK, 0), f"{_spell(last['day'])}L"
    found = _NTH.fullmatch(part)
    if not found:
        raise refused(f"day of week field: {part!r}: # stands between one day and 1-5, such as MON#2")
    day, nth = read_number(kind, found["day"]), int(found["nth"])
    if not 1 <= nth <= _MAX_NTH:
        raise refused(f"day of week field: {part!r}: a month has no weekday number {nth}; use 1-5, or L for the last")
    return ((day - kind.low) % _WEEK, nth), f"{_spell(found['day'])}#{nth}"


def _spell(text: str) -> str:
    return str(int(text)) if text.isdigit() else text


@lru_cache(maxsize=4096)
def month_shape(year: int, month: int) -> tuple[int, int]:
    """(length, weekday of the first with 0 = Sunday): all that matters of a month to a day rule."""
    first_from_monday, length = calendar.monthrange(year, month)
    return length, (first_from_monday + 1) % _WEEK


@lru_cache(maxsize=16384)
def days_mask(rule: DayRule, length: int, first_weekday: int) -> int:
    """Bit d is set when day d matches in a month of `length` days that begins on `first_weekday` (0 = Sunday)."""
    by_date = _date_mask(rule.month_days, length, first_weekday)
    by_weekday = _weekday_mask(rule.week_days, length, first_weekday)
    return by_date & by_weekday if rule.needs_both else by_date | by_weekday


def _date_mask(days: MonthDays, length: int, first_weekday: int) -> int:
    mask = sum(1 << day for day in days.numbers if day <= length)
    for before in days.before_last:
        if before < length:
            mask |= 1 << (length - before)
    if days.last_weekday:
        mask |= 1 << _nearest_weekday(length, length, first_weekday)
    if days.nearest is not None and days.nearest <= length:
        mask |= 1 << _nearest_weekday(days.nearest, length, first_weekday)
    return mask


def _weekday_mask(days: WeekDays, length: int, first_weekday: int) -> int:
    wanted = set(days.numbers)
    mask = sum(1 << day for day in range(1, length + 1) if (first_weekday + day - 1) % _WEEK in wanted)
    for weekday, nth in days.nth:
        first = 1 + (weekday - first_weekday) % _WEEK
        day = first + (nth - 1) * _WEEK if nth else first + (length - first) // _WEEK * _WEEK
        if day <= length:
            mask |= 1 << day
    return mask


def _nearest_weekday(day: int, length: int, first_weekday: int) -> int:
    """Monday to Friday nearest to that day without leaving the month."""
    weekday = (first_weekday + day - 1) % _WEEK
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == 0:
        return day + 1 if day < length else day - 2
    return day
