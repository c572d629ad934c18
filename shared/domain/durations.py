"""ISO 8601 durations as int milliseconds. A day is 24 hours; years and months have no fixed length and are refused."""

from __future__ import annotations

import re

from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND

#: Long enough for any plan, short enough that sums with an instant stay far inside 64 bits.
MAX_DURATION_MS = 36_525 * DAY

_DURATION = re.compile(
    r"P(?:(?P<weeks>[0-9]{1,9})W)?(?:(?P<days>[0-9]{1,9})D)?"
    r"(?:T(?:(?P<hours>[0-9]{1,9})H)?(?:(?P<minutes>[0-9]{1,9})M)?"
    r"(?:(?P<seconds>[0-9]{1,12})(?:\.(?P<fraction>[0-9]{1,3}))?S)?)?"
)
_CALENDAR_PARTS = re.compile(r"P[0-9]+Y|P(?:[0-9]+Y)?[0-9]+M")


def parse_duration(text: object, pointer: str = "#") -> int:
    """`PT90S`, `PT1H30M`, `P1D`, `P2W`, `PT0.5S` in milliseconds, never negative.

    Raises:
        InvalidRequest: not such a text, or longer than a hundred years; `pointer` names the field.
    """
    if not isinstance(text, str):
        raise _refused(pointer, f"a duration is a text such as PT90S, not {type(text).__name__}")
    if _CALENDAR_PARTS.match(text):
        raise _refused(pointer, f"{_shown(text)}: years and months have no fixed length; use cron for calendar rhythms")
    found = _DURATION.fullmatch(text)
    if not found or text.endswith(("P", "T")):
        raise _refused(pointer, f"{_shown(text)} is not an ISO 8601 duration of days, hours, minutes and seconds")
    total = (
        int(found["weeks"] or 0) * 7 * DAY
        + int(found["days"] or 0) * DAY
        + int(found["hours"] or 0) * HOUR
        + int(found["minutes"] or 0) * MINUTE
        + int(found["seconds"] or 0) * SECOND
        + int((found["fraction"] or "").ljust(3, "0"))
    )
    if total > MAX_DURATION_MS:
        raise _refused(pointer, f"{_shown(text)} is longer than 100 years")
    return total


def format_duration(duration_ms: int) -> str:
    """The shortest usual spelling: `P1D`, `PT6H`, `PT5M`, `PT90S`, `PT0.250S`."""
    if duration_ms and duration_ms % DAY == 0:
        return f"P{duration_ms // DAY}D"
    if duration_ms and duration_ms % HOUR == 0:
        return f"PT{duration_ms // HOUR}H"
    if duration_ms > MINUTE and duration_ms % MINUTE == 0:
        return f"PT{duration_ms // MINUTE}M"
    seconds, fraction = divmod(duration_ms, SECOND)
    return f"PT{seconds}.{fraction:03d}S" if fraction else f"PT{seconds}S"


def _refused(pointer: str, detail: str) -> InvalidRequest:
    return InvalidRequest(FieldProblem(pointer, detail, example="PT90S"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")  # noqa: PLR2004 (enough to recognise it)
