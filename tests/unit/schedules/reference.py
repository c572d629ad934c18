"""Cron by brute force, to compare with: every real minute of a stretch is looked at through `ZoneInfo`.

Nothing here is shared with the product but the rule itself (the head of the collected cases), and no cron library is
used. It understands what `expressions` generates, not everything a user may write, and refuses nothing.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
LONGEST_GAP = timedelta(hours=3)
MONTHS = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def load_zone(name: str) -> ZoneInfo:
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@dataclass(frozen=True)
class Minute:
    """One real minute of a zone, with the local minutes that a gap before it removed."""

    utc: datetime
    local: datetime
    is_second_pass: bool
    lost: tuple[datetime, ...]
    is_long_jump: bool


def minutes_of(zone: ZoneInfo, start: datetime, count: int) -> list[Minute]:
    """The `count` real minutes from `start` on."""
    found = []
    before = (start - MINUTE).astimezone(zone)
    for number in range(count):
        utc = start + number * MINUTE
        aware = utc.astimezone(zone)
        jump = (aware.utcoffset() or MINUTE) - (before.utcoffset() or MINUTE)
        lost = tuple(aware.replace(tzinfo=None) - k * MINUTE for k in range(int(jump / MINUTE), 0, -1))
        local = aware.replace(tzinfo=None, fold=0)
        found.append(Minute(utc, local, aware.fold == 1, tuple(m.replace(fold=0) for m in lost), jump > LONGEST_GAP))
        before = aware
    return found


class Reference:
    """One expression in five fields, or the inside of an AWS `cron(...)` with six."""

    def __init__(self, expression: str) -> None:
        text = expression.upper()
        self.is_aws = text.startswith("CRON(")
        fields = text.removeprefix("CRON(").removesuffix(")").split()
        self.minutes = numbers(fields[0], 0, 59)
        self.hours = numbers(fields[1], 0, 23)
        self.day_text = fields[2]
        self.months = numbers(fields[3], 1, 12, MONTHS)
        self.weekday_text = fields[4]
        self.years = numbers(fields[5], 1970, 2199) if self.is_aws else None
        self.is_wild = fields[0].startswith("*") or fields[1].startswith("*")
        self.needs_both = fields[2][0] in "*?" or fields[4][0] in "*?"

    def has_day(self, day: date) -> bool:
        if day.month not in self.months or (self.years is not None and day.year not in self.years):
            return False
        by_date, by_weekday = self._has_date(day), self._has_weekday(day)
        return by_date and by_weekday if self.needs_both else by_date or by_weekday

    def has_time(self, local: datetime) -> bool:
        return local.minute in self.minutes and local.hour in self.hours and self.has_day(local.date())

    def slots(self, minutes: list[Minute], *, skips_gaps: bool = False) -> list[datetime]:
        return [minute.utc for minute in minutes if self._fires(minute, skips_gaps=skips_gaps)]

    def _fires(self, minute: Minute, *, skips_gaps: bool) -> bool:
        if self.is_wild:
            return self.has_time(minute.local)
        if not minute.is_second_pass and self.has_time(minute.local):
            return True
        return not (skips_gaps or minute.is_long_jump) and any(self.has_time(local) for local in minute.lost)

    def _has_date(self, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        for part in self.day_text.split(","):
            if part == "?":
                return True
            if part == "L" or part.startswith("L-"):
                if day.day == length - int(part[2:] or 0):
                    return True
            elif part == "LW":
                if day == nearest_workday(date(day.year, day.month, length)):
                    return True
            elif part.endswith("W"):
                wanted = int(part[:-1])
                if wanted <= length and day == nearest_workday(date(day.year, day.month, wanted)):
                    return True
            elif day.day in numbers(part, 1, 31):
                return True
        return False

    def _has_weekday(self, day: date) -> bool:
        weekday = day.isoweekday() % 7
        for part in self.weekday_text.split(","):
            if part == "?":
                return True
            if "#" in part:
                name, nth = part.split("#")
                if self._weekday(name) == weekday and (day.day - 1) // 7 + 1 == int(nth):
                    return True
            elif len(part) > 1 and part.endswith("L"):
                if self._weekday(part[:-1]) == weekday and (day + timedelta(days=7)).month != day.month:
                    return True
            elif self.is_aws:
                if weekday + 1 in numbers(part, 1, 7, ["", *WEEKDAYS]):
                    return True
            elif {weekday, weekday or 7} & numbers(part, 0, 7, WEEKDAYS, star_to=6):
                return True
        return False

    def _weekday(self, text: str) -> int:
        if text in WEEKDAYS:
            return WEEKDAYS.index(text)
        return int(text) - 1 if self.is_aws else int(text) % 7


def nearest_workday(day: date) -> date:
    """The nearest Monday to Friday of the same month."""
    by_distance = sorted(range(-3, 4), key=abs)
    days = [
        day + timedelta(days=distance)
        for distance in by_distance
        if (day + timedelta(days=distance)).month == day.month
    ]
    return next(near for near in days if near.isoweekday() <= 5)


def numbers(text: str, low: int, high: int, names: list[str] | None = None, *, star_to: int | None = None) -> set[int]:
    """A list of values, ranges and steps; a range that ends before it begins goes on from `low`.

    `star_to`: the last value of the cycle where `high` is a second name of `low` (Sunday, 0 and 7).
    """
    found = set()
    for part in text.split(","):
        body, _, step = part.partition("/")
        first, dash, last = body.partition("-")
        if body == "*":
            sequence = list(range(low, (star_to or high) + 1))
        elif not dash:
            begin = _number(first, names)
            sequence = list(range(begin, high + 1)) if step else [begin]
        else:
            sequence = _range(_number(first, names), _number(last, names), low, star_to or high)
        found.update(sequence[:: int(step or 1)])
    return found


def _range(begin: int, end: int, low: int, last_of_cycle: int) -> list[int]:
    if begin == end:
        return [begin]
    if begin > last_of_cycle:
        begin = low
    if begin <= end:
        return list(range(begin, end + 1))
    return [*range(begin, last_of_cycle + 1), *range(low, end + 1)]


def _number(text: str, names: list[str] | None) -> int:
    return names.index(text) if names and text in names else int(text)
