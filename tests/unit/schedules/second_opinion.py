"""Where croniter, as most people call it, would fire differently.

croniter does not search for Carillon: it reads a third of the collected cases differently (equal-ended ranges, wrapping
steps, `5L`, `LW`, daylight saving), takes 40-170 us a slot instead of a few, cannot count without visiting every slot,
and costs 75 ms to import. But it is what many schedulers run on, and nobody here wrote it: where it disagrees, one of
the two is wrong, and a test must know which.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

from croniter import croniter

from shared.domain.instants import Instant, to_datetime, to_instant
from shared.domain.schedules.slots import slots
from shared.domain.schedules.values import Cron
from shared.domain.schedules.zones import zone

#: croniter visits years one by one; sparser expressions are not compared.
_YEARS = 5


def first_difference(schedule: Cron, after: Instant, count: int) -> Instant | None:
    """The first of the next `count` slots that croniter would not fire at that instant; None when it agrees.

    An expression that croniter refuses or gives up on differs at once. AWS expressions are not compared.
    """
    if schedule.expression.startswith("cron("):
        return None
    ours = list(islice(slots(schedule, after), count))
    start = to_datetime(after).astimezone(zone(schedule.timezone))
    try:
        theirs = croniter(
            schedule.expression, start, second_at_beginning=schedule.has_seconds, max_years_between_matches=_YEARS
        )
        for slot in ours:
            if to_instant(theirs.get_next(datetime).astimezone(UTC)) != slot:
                return slot
    except (ValueError, TypeError, KeyError, OverflowError):
        return ours[0] if ours else None
    return None
