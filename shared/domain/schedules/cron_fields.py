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


def refused(detail: str) -> InvalidRequest:
    """What every complaint about an expression looks like."""
    return InvalidRequest(FieldProblem("#/cron", detail, example=EXAMPLE))


@dataclass(frozen=True, slots=True)
class Field:
    """A field and the numbers it takes. `alias` is a second number for `low`, one past the cycle: 7 for Sunday."""

    name: str
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict, hash=False)
    has_cycle: bool = True
    alias: int | None = None

    @property
    def size(self) -> int:
        return self.high - self.low + 1


SECONDS = Field("second", 0, 59)
MINUTES = Field("minute", 0, 59)
HOURS = Field("hour", 0, 23)
DAYS = Field("day of month", 1, 31)
MONTHS = Field("month", 1, 12, MONTH_NAMES)
WEEKDAYS = Field("day of week", 0, 6, {name: day for day, name in enumerate(DAY_NAMES)}, alias=7)
AWS_WEEKDAYS = Field("day of week", 1, 7, {name: day for day, name in enumerate(DAY_NAMES, start=1)})
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
    """Raises InvalidRequest naming the field and the part at fault. `text` is upper case."""
    numbers: set[int] = set()
    spelled = []
    for part in text.split(","):
        found, spelling = _read_part(kind, part, text)
        numbers.update(found)
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


def _read_part(kind: Field, part: str, whole: str) -> tuple[list[int], str]:
    if not part:
        raise refused(f"{kind.name} field {whole!r}: nothing stands beside a comma")
    body, slash, step_text = part.partition("/")
    step = _read_step(kind, step_text, part) if slash else 1
    suffix = f"/{step}" if slash else ""
    if body == "*":
        return list(range(kind.low, kind.high + 1, step)), f"*{suffix}"
    found = _RANGE.fullmatch(body)
    if not found:
        raise refused(f"{kind.name} field: {part!r} is not understood; {_allowed(kind, part)}")
    low = read_number(kind, found["low"])
    if found["high"] is not None:
        high = read_number(kind, found["high"])
        return _cycle(kind, low, high, part)[
            ::step
        ], f"{_spell(kind, found['low'])}-{_spell(kind, found['high'])}{suffix}"
    highest = (kind.alias or kind.high) if slash else low
    return _cycle(kind, low, highest, part)[::step], f"{_spell(kind, found['low'])}{suffix}"


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
    return [(low + ahead - kind.low) % kind.size + kind.low for ahead in range(length + 1)]


def _spell(kind: Field, text: str) -> str:
    return text if text in kind.names else str(int(text))


def _allowed(kind: Field, part: str) -> str:
    if part[0] in "RH" and kind.names.get(part[:3]) is None:
        return "random (R) and hashed (H) times differ between tools; write the time, or use a window"
    names = f" or {next(iter(kind.names))}-style names" if kind.names else ""
    return f"it takes *, numbers {kind.low}-{kind.alias or kind.high}{names}, ranges a-b, lists a,b and steps /n"
