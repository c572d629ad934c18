"""Instants: integer milliseconds since 1970-01-01T00:00:00Z, and their RFC 3339 form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: 9999-12-31T23:59:59.999Z, the last instant `datetime` can hold.
LAST_INSTANT = Instant(253_402_300_799_999)

_MILLISECOND = timedelta(milliseconds=1)


def to_instant(moment: datetime) -> Instant:
    """An aware datetime as an instant, cut to the millisecond. Raises ValueError for a naive one."""
    if moment.tzinfo is None:
        msg = "a datetime without a zone is no instant"
        raise ValueError(msg)
    return Instant((moment - EPOCH) // _MILLISECOND)


def to_datetime(instant: Instant) -> datetime:
    """The instant as an aware UTC datetime. Raises OverflowError past the year 9999."""
    return EPOCH + timedelta(milliseconds=instant)


def to_rfc3339(instant: Instant) -> str:
    """`2026-11-27T01:30:00.000Z`."""
    return to_datetime(instant).strftime("%Y-%m-%dT%H:%M:%S.") + f"{instant % SECOND:03d}Z"


def parse_rfc3339(text: str) -> Instant:
    """The inverse of `to_rfc3339`; any offset is understood. Raises ValueError when there is none."""
    return to_instant(datetime.fromisoformat(text))
