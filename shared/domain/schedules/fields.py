"""Reading single values of a request: each function returns the value or raises InvalidRequest naming the field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import LAST_INSTANT, Instant, parse_rfc3339, to_rfc3339
from shared.domain.limits import MAX_EXCLUDED_DATES
from shared.domain.schedules.values import Excluded
from shared.domain.schedules.zones import zone_names, zones_near

_MOMENT = re.compile(
    r"(?P<local>[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:\.(?P<fraction>[0-9]{1,9}))?"
    r"(?P<offset>[Zz]|[+-](?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MAX_REASON_LENGTH = 100
_PARTS = {"year": (1, 9999), "month": (1, 12), "day": (1, 31), "hour": (0, 23), "minute": (0, 59), "second": (0, 59)}
_SHOWN = 60


def problem(pointer: str, detail: str, example: object = None) -> InvalidRequest:
    return InvalidRequest(FieldProblem(pointer, detail, example))


def shown(value: object) -> str:
    """A value as it may appear in a message: cut, for it is the caller's."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def read_moment(value: object, pointer: str) -> tuple[Instant, bool]:
    """(milliseconds, whether the text has an offset); without one they count on a local clock."""
    example = "2026-11-27T01:30:00.000Z"
    found = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise problem(pointer, f"{shown(value)} is not a date and time of RFC 3339", example)
    if int(found["hours"] or 0) > _PARTS["hour"][1] or int(found["minutes"] or 0) > _PARTS["minute"][1]:
        raise problem(pointer, f"{shown(value)}: an offset is at most 23:59, such as +02:00", example)
    fraction = (found["fraction"] or "").ljust(3, "0")[:3]
    text = f"{found['local'].upper().replace(' ', 'T')}"
    text += f"{'' if text.count(':') > 1 else ':00'}.{fraction}"
    try:
        moment = parse_rfc3339(text + (found["offset"] or "Z").upper())
    except ValueError:
        raise problem(pointer, f"{shown(value)} is not on the calendar: {_fault_of(found['local'])}", example) from None
    return moment, found["offset"] is not None


def read_instant(value: object, pointer: str) -> Instant:
    moment, has_offset = read_moment(value, pointer)
    if not has_offset:
        raise problem(pointer, f"{shown(value)} has no offset; add Z for UTC", to_rfc3339(moment))
    if not 0 <= moment <= LAST_INSTANT:
        raise problem(pointer, f"{shown(value)} is outside the years 1970-9999")
    return moment


def read_timezone(value: object, pointer: str = "#/timezone") -> str:
    if isinstance(value, str) and value in zone_names():
        return value
    near = zones_near(value) if isinstance(value, str) else ()
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    detail = f"{shown(value)} is not the name of a zone in the IANA database{hint}"
    raise problem(pointer, detail, near[0] if near else "Europe/Berlin")


def read_whole_number(value: object, pointer: str, *, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise problem(pointer, f"{shown(value)} is not a whole number between {low} and {high}", low)
    return value


def read_bool(value: object, pointer: str) -> bool:
    if not isinstance(value, bool):
        raise problem(pointer, f"{shown(value)} is neither true nor false", True)
    return value


def read_exclude(value: object, pointer: str = "#/exclude") -> Excluded:
    """A list of {"date", "reason"} as ascending (date, reason) pairs."""
    if not isinstance(value, list | tuple):
        raise problem(pointer, "exclude is a list of dates", [{"date": "2026-12-25", "reason": "holiday"}])
    if len(value) > MAX_EXCLUDED_DATES:
        raise problem(pointer, f"{len(value)} dates, the limit is {MAX_EXCLUDED_DATES}")
    pairs = [_read_excluded(item, f"{pointer}/{index}") for index, item in enumerate(value)]
    if len({day for day, _ in pairs}) != len(pairs):
        raise problem(pointer, "a date stands here twice")
    return tuple(sorted(pairs))


def _read_excluded(item: object, pointer: str) -> tuple[date, str]:
    example = {"date": "2026-12-25", "reason": "holiday"}
    if not isinstance(item, Mapping) or not set(item) <= {"date", "reason"} or "date" not in item:
        raise problem(pointer, "an excluded day has a date and a reason", example)
    text, reason = item["date"], item.get("reason", "")
    if not isinstance(text, str) or not _DATE.fullmatch(text):
        raise problem(f"{pointer}/date", f"{shown(text)} is not a date", "2026-12-25")
    if not isinstance(reason, str) or len(reason) > _MAX_REASON_LENGTH:
        raise problem(f"{pointer}/reason", f"a reason is a text of at most {_MAX_REASON_LENGTH} characters", "holiday")
    try:
        return date.fromisoformat(text), reason
    except ValueError:
        raise problem(f"{pointer}/date", f"{text} is not on the calendar: {_fault_of(text)}", "2026-12-25") from None


def _fault_of(text: str) -> str:
    """What of a well-formed date, perhaps with a time, no calendar or clock shows."""
    numbers = [int(number) for number in re.findall("[0-9]+", text)]
    for name, number, (low, high) in zip(_PARTS, numbers, _PARTS.values(), strict=False):
        if not low <= number <= high:
            return f"{name} {number} is outside {low}-{high}"
    return "that month has no such day"
