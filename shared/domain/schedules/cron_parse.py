"""A cron expression turned into an explicit form: sets of numbers, a day rule, and whether it follows the clock.

Dialects: Unix with five fields (six, seconds first, only when asked for), `@daily` and its kin, and AWS `cron(...)`.
`parse_cron(parsed.text)` is the same value again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from shared.domain.errors import InvalidRequest
from shared.domain.limits import MAX_CRON_LENGTH
from shared.domain.schedules.cron_days import (
    DayRule,
    MonthDays,
    WeekDays,
    check_mixture,
    days_mask,
    month_shape,
    read_month_days,
    read_week_days,
)
from shared.domain.schedules.cron_fields import (
    AWS_WEEKDAYS,
    AWS_YEARS,
    HOURS,
    MINUTES,
    MONTH_NAMES,
    MONTHS,
    SECONDS,
    WEEKDAYS,
    Field,
    LoneStep,
    Values,
    read_values,
    refused,
)
from shared.domain.schedules.cron_spellings import hint_of_many, refusal_of

_T = TypeVar("_T")

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_AWS = re.compile(r"cron\((?P<fields>[^()]*)\)")
_BLANKS = re.compile(r"[ \t]+")
_UNIX_FIELDS = 5
_AWS_FIELDS = 6


@dataclass(frozen=True, slots=True)
class CronFields:
    """Everything an expression says.

    `follows_clock`: it fires at every real matching minute, also in a repeated hour, instead of once per local time;
    true when the minute or hour field starts with a star.
    """

    text: str
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    months: tuple[int, ...]
    days: DayRule
    years: tuple[int, ...] | None
    follows_clock: bool


@lru_cache(maxsize=4096)
def parse_cron(expression: str, *, has_seconds: bool = False) -> CronFields:
    """Raises InvalidRequest, pointing at `#/cron`, with the field and the part at fault."""
    text = _checked(expression)
    if foreign := refusal_of(text):
        raise foreign
    aws = _AWS.fullmatch(text)
    if aws:
        return _parse_aws(aws["fields"].strip(" \t").upper(), has_seconds=has_seconds)
    if text.startswith("@"):
        return _parse_alias(text.lower(), has_seconds=has_seconds)
    if "(" in text or ")" in text:
        raise refused(
            f"{text!r} is neither cron(minutes hours day-of-month month day-of-week year) nor rate(5 minutes)"
        )
    return _parse_unix(text.upper(), has_seconds=has_seconds)


def _checked(expression: str) -> str:
    if len(expression) > MAX_CRON_LENGTH:
        raise refused(f"the expression has {len(expression)} characters, the limit is {MAX_CRON_LENGTH}")
    for character in expression:
        if not (" " <= character <= "~" or character == "\t"):
            raise refused(
                f"the expression contains {character!r}; only ASCII letters, digits, signs and blanks are allowed"
            )
    text = expression.strip(" \t")
    if not text:
        raise refused("the expression is empty")
    return text


def _parse_alias(text: str, *, has_seconds: bool) -> CronFields:
    if text == "@reboot":
        raise refused("@reboot has no time; create the job with an instant instead")
    if text not in ALIASES:
        raise refused(f"{text!r} is not one of {', '.join(ALIASES)}")
    if has_seconds:
        raise refused(f'{text!r} has no seconds field; leave "seconds" out')
    return _parse_unix(ALIASES[text], has_seconds=False)


def _parse_unix(text: str, *, has_seconds: bool) -> CronFields:
    fields = _BLANKS.split(text)
    wanted = _UNIX_FIELDS + has_seconds
    if len(fields) != wanted:
        raise _wrong_number(fields, has_seconds=has_seconds)
    reader = _Reader(fields, "{}")
    seconds = reader.read(0, SECONDS) if has_seconds else None
    first = int(has_seconds)
    minutes, hours = reader.read(first, MINUTES), reader.read(first + 1, HOURS)
    days, months = reader.read_month_days(first + 2), reader.read(first + 3, MONTHS)
    weekdays = reader.read_week_days(first + 4, WEEKDAYS)
    check_mixture(days, weekdays)
    spelled = [seconds.text] if seconds else []
    spelled += [minutes.text, hours.text, days.text, months.text, weekdays.text]
    return _possible(
        CronFields(
            text=" ".join(spelled),
            seconds=seconds.numbers if seconds else (0,),
            minutes=minutes.numbers,
            hours=hours.numbers,
            months=months.numbers,
            days=DayRule(days, weekdays),
            years=None,
            follows_clock=minutes.has_star or hours.has_star,
        )
    )


def _wrong_number(fields: list[str], *, has_seconds: bool) -> InvalidRequest:
    found = len(fields)
    if has_seconds:
        return refused(f"{found} fields; with seconds there are six: second minute hour day-of-month month day-of-week")
    needed = f"{found} field{'' if found == 1 else 's'}; five are needed: minute hour day-of-month month day-of-week"
    if meant := hint_of_many(fields):
        return refused(f"{needed}; {meant[0]}", meant[1])
    if found == _UNIX_FIELDS + 1:
        return refused(f'{needed}; for seconds first set "seconds": true, for the AWS form with a year write cron(...)')
    return refused(needed)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one field after the other; `form` is how an expression of its dialect is written around them."""

    fields: list[str]
    form: str

    def read(self, index: int, kind: Field) -> Values:
        return self._read(index, lambda text: read_values(kind, text))

    def read_month_days(self, index: int) -> MonthDays:
        return self._read(index, read_month_days)

    def read_week_days(self, index: int, kind: Field) -> WeekDays:
        return self._read(index, lambda text: read_week_days(kind, text))

    def _read(self, index: int, read: Callable[[str], _T]) -> _T:
        try:
            return read(self.fields[index])
        except LoneStep as lone:
            meant = [*self.fields[:index], lone.meant, *self.fields[index + 1 :]]
            raise refused(str(lone), self.form.format(" ".join(meant))) from None


def _parse_aws(text: str, *, has_seconds: bool) -> CronFields:
    if has_seconds:
        raise refused('the AWS form has no seconds field; leave "seconds" out')
    fields = _BLANKS.split(text)
    if len(fields) != _AWS_FIELDS:
        raise refused(
            f"{len(fields)} fields in cron(...); six are needed: minutes hours day-of-month month day-of-week year"
        )
    if (fields[2] == "?") == (fields[4] == "?"):
        raise refused("exactly one of the two day fields of cron(...) must be ?, such as cron(0 12 ? * MON *)")
    # AWS: a lone L among the weekdays is the last day of the week, Saturday.
    reader = _Reader([*fields[:4], "SAT" if fields[4] == "L" else fields[4], fields[5]], "cron({})")
    minutes, hours = reader.read(0, MINUTES), reader.read(1, HOURS)
    days, months = reader.read_month_days(2), reader.read(3, MONTHS)
    weekdays = reader.read_week_days(4, AWS_WEEKDAYS)
    if len(weekdays.nth) > 1:
        raise refused("the AWS form takes a single # or L in the day of week field; make two jobs")
    years = reader.read(5, AWS_YEARS)
    spelled = f"{minutes.text} {hours.text} {days.text} {months.text} {weekdays.text} {years.text}"
    return _possible(
        CronFields(
            text=f"cron({spelled})",
            seconds=(0,),
            minutes=minutes.numbers,
            hours=hours.numbers,
            months=months.numbers,
            days=DayRule(days, weekdays),
            years=None if years.text == "*" else years.numbers,
            follows_clock=minutes.has_star or hours.has_star,
        )
    )


def _possible(fields: CronFields) -> CronFields:
    """Refuse dates that no calendar has. Raises InvalidRequest naming the day and month fields."""
    for month in fields.months:
        if any(days_mask(fields.days, *shape) for shape in _shapes(month, fields.years)):
            return fields
    months = ",".join(name for name, number in MONTH_NAMES.items() if number in fields.months)
    days, weekdays = fields.days.month_days.text, fields.days.week_days.text
    within = f" in {fields.years[0]}-{fields.years[-1]}" if fields.years else ""
    raise refused(
        f"{fields.text!r} never fires: {months} has no day that matches day of month {days!r} "
        f"and day of week {weekdays!r}{within}"
    )


def _shapes(month: int, years: tuple[int, ...] | None) -> Iterator[tuple[int, int]]:
    """Every (length, first weekday) that month can have."""
    if years is not None:
        return (month_shape(year, month) for year in years)
    # 2000 is a leap year, 2001 is not, and over the centuries each begins on every weekday.
    return ((month_shape(year, month)[0], weekday) for year in (2000, 2001) for weekday in range(7))
