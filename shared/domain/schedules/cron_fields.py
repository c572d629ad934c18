"""One field of a cron expression: its range, and its text turned into explicit values.

Both dialects share this grammar: `*`, `a`, `a-b`, each with `/step`, in comma lists; names in any case; ranges may wrap
(`FRI-MON`, `22-2`). `L`, `W` and `#` belong to the day fields only and are read in `cron_days`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from shared.domain.errors import FieldProblem, InvalidRequest

MONTH_NAMES = {
    name: number
    for number, name in enumerate(
        ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"), start=1
    )
}
DAY_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
#: A working expression to put beside every complaint.
EXAMPLE = "30 2 * * MON-FRI"

_RANGE = re.compile(r"(?P<low>[0-9]{1,4}|[A-Z]{3})(?:-(?P<high>[0-9]{1,4}|[A-Z]{3}))?")
_STEP = re.compile(r"[0-9]{1,4}")


def refused(detail: str, example: object = EXAMPLE) -> InvalidRequest:
    """What every complaint about an expression looks like."""
    return InvalidRequest(FieldProblem("#/cron", detail, example=example))


class LoneStep(Exception):
    """A step that selects nothing but its start, as in `*/24` of the hours: no interval, whatever it was meant to be.

    `meant` is the field's text with the start alone in its place.
    """

    def __init__(self, detail: str, meant: str) -> None:
        super().__init__(detail)
        self.meant = meant


@dataclass(frozen=True, slots=True)
class Field:
    """A field and the numbers it takes. `alias` is a second number for `low`, one past the cycle: 7 for Sunday.

    `also` tells what `cron_days` reads in it besides.
    """

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict, hash=False)
    has_cycle: bool = True
    alias: int | None = None
    also: str = ""

    @property
    def size(self) -> int:
        return self.high - self.low + 1


SECONDS = Field("second", 0, 59)
MINUTES = Field("minute", 0, 59)
HOURS = Field("hour", 0, 23)
DAYS = Field("day of month", 1, 31, also="L (the last), L-n (n days before it), LW and nW")
MONTHS = Field("month", 1, 12, MONTH_NAMES)
_NTH_DAYS = "FRIL (the last Friday) and MON#2 (the second Monday)"
WEEKDAYS = Field("day of week", 0, 6, {name: day for day, name in enumerate(DAY_NAMES)}, alias=7, also=_NTH_DAYS)
AWS_WEEKDAYS = Field("day of week", 1, 7, {name: day for day, name in enumerate(DAY_NAMES, start=1)}, also=_NTH_DAYS)
AWS_YEARS = Field("year", 1970, 2199, has_cycle=False)


@dataclass(frozen=True, slots=True)
class Values:
    """`numbers` ascending without repeats; `text` is the canonical spelling, which parses to the same value."""

    numbers: tuple[int, ...]
    text: str

    @property
    def has_star(self) -> bool:
        """Starts with a star: the mark by which cron tells a wildcard from a list that happens to be complete."""
        return self.text.startswith("*")


def read_values(kind: Field, text: str) -> Values:
    """Raises InvalidRequest naming the field and the part at fault, and LoneStep. `text` is upper case."""
    numbers: set[int] = set()
    spelled = []
    parts = text.split(",")
    for at, part in enumerate(parts):
        found, step, spelling = _read_part(kind, part, text)
        if 1 < len(found) <= step:
            start = _spelled(kind, found[0])
            raise LoneStep(
                f"{kind.name} field: {part!r} selects nothing but {start}; write {start}, or for an interval use every",
                ",".join([*parts[:at], start, *parts[at + 1 :]]),
            )
        numbers.update(found[::step])
        spelled.append(spelling)
    return Values(tuple(sorted(numbers)), ",".join(spelled))


def read_number(kind: Field, text: str) -> int:
    """One value, by number or name. Raises InvalidRequest."""
    if text in kind.names:
        return kind.names[text]
    if not text.isdigit() and not kind.names:
        raise refused(f"{kind.name} field: {text!r} is not a number")
    if not text.isdigit():
        raise refused(f"{kind.name} field: {text!r} is not one of {', '.join(kind.names)}")
    number = int(text)
    highest = kind.alias or kind.high
    if not kind.low <= number <= highest:
        raise refused(f"{kind.name} field: {number} is outside {kind.low}-{highest}")
    return number


def _read_part(kind: Field, part: str, whole: str) -> tuple[list[int], int, str]:
    """The numbers of its range, the step through them, and its spelling."""
    if not part:
        raise refused(f"{kind.name} field {whole!r}: nothing stands beside a comma")
    body, slash, step_text = part.partition("/")
    step = _read_step(kind, step_text, part) if slash else 1
    suffix = f"/{step}" if slash else ""
    if body == "*":
        highest = kind.alias or kind.high
        return [_in_field(kind, number) for number in range(kind.low, highest + 1)], step, f"*{suffix}"
    found = _RANGE.fullmatch(body)
    if not found:
        raise refused(f"{kind.name} field: {part!r} is not understood; {_allowed(kind, part)}")
    low = read_number(kind, found["low"])
    if found["high"] is not None:
        high = read_number(kind, found["high"])
        spelled = f"{_spell(kind, found['low'])}-{_spell(kind, found['high'])}{suffix}"
        return _cycle(kind, low, high, part), step, spelled
    highest = (kind.alias or kind.high) if slash else low
    return _cycle(kind, low, highest, part), step, f"{_spell(kind, found['low'])}{suffix}"


def _read_step(kind: Field, text: str, part: str) -> int:
    if not _STEP.fullmatch(text):
        raise refused(f"{kind.name} field: {part!r} needs a whole number after the slash")
    step = int(text)
    if step == 0:
        raise refused(f"{kind.name} field: {part!r} has a step of zero")
    if step > kind.size:
        raise refused(
            f"{kind.name} field: {part!r} steps further than the field's {kind.size} values, "
            'so it is no interval; for one, use "every"'
        )
    return step


def _cycle(kind: Field, low: int, high: int, part: str) -> list[int]:
    """From low to high; past the end of the field and on from its start where high comes first."""
    if low > high and not kind.has_cycle:
        raise refused(f"{kind.name} field: {part!r} runs backwards")
    length = high - low if low <= high else (high - low) % kind.size
    return [_in_field(kind, low + ahead) for ahead in range(length + 1)]


def _in_field(kind: Field, number: int) -> int:
    """The number, or past the field's end the one that it stands for from the start."""
    return (number - kind.low) % kind.size + kind.low


def _spelled(kind: Field, number: int) -> str:
    return next((name for name, value in kind.names.items() if value == number), str(number))


def _spell(kind: Field, text: str) -> str:
    return text if text in kind.names else str(int(text))


def _allowed(kind: Field, part: str) -> str:
    name = part[:3]
    if part.isalpha() and len(part) > len(name) and name in kind.names:
        return f"names have three letters: {name}"
    if part[0] in "RH" and name not in kind.names:
        return "random (R) and hashed (H) times differ between tools; write the time, or use a window"
    names = f" or {next(iter(kind.names))}-style names" if kind.names else ""
    also = f", {kind.also}" if kind.also else ""
    return f"it takes *, numbers {kind.low}-{kind.alias or kind.high}{names}, ranges a-b, lists a,b, steps /n{also}"
