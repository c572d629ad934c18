"""Short spellings for the tests of schedules."""

from __future__ import annotations

from itertools import islice

from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant, parse_rfc3339, to_rfc3339
from shared.domain.schedules import Schedule, parse_schedule, slots

NOW = parse_rfc3339("2026-06-01T12:00:00Z")


def at(text: str) -> Instant:
    """`2026-03-08T07:00Z` as an instant."""
    return parse_rfc3339(text)


def schedule(now: Instant = NOW, /, **document: object) -> Schedule:
    """As the API would parse it; `every_` and the like are not needed, but `in` is a keyword."""
    return parse_schedule({("in" if name == "in_" else name): value for name, value in document.items()}, now=now)


def judge(document: object, now: Instant, *, needs_slot: bool = True) -> Schedule | InvalidRequest:
    """The schedule, or the refusal; any other exception is a fault of the product."""
    try:
        return parse_schedule(document, now=now, needs_slot=needs_slot)  # type: ignore[arg-type]
    except InvalidRequest as refused:
        return refused


def coming(planned: Schedule, after: Instant, count: int) -> list[str]:
    """The next slots as texts without seconds."""
    return [to_rfc3339(slot).removesuffix(":00.000Z") + "Z" for slot in islice(slots(planned, after), count)]
