"""The next fire of an expression in plain datetimes, for whoever wants no schedule object."""

from __future__ import annotations

from datetime import datetime

from shared.domain.instants import to_datetime, to_instant
from shared.domain.schedules.document import parse_schedule
from shared.domain.schedules.slots import next_slot


def next_fire(expression: str, timezone: str, after: datetime) -> datetime | None:
    """The first fire strictly later than `after`, as an aware UTC datetime; None when there is none.

    Raises:
        InvalidRequest: the expression or the zone is not accepted.
        ValueError: `after` has no zone.
    """
    now = to_instant(after)
    slot = next_slot(parse_schedule({"cron": expression, "timezone": timezone}, now=now, needs_slot=False), now)
    return None if slot is None else to_datetime(slot)
