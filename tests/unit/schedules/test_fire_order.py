"""Fires stay in the order of their slots, so the first and the last of a stretch are found without visiting each."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile
from random import Random

import pytest

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.schedules import Schedule, fire_at, first_to_fire, last_slot, last_to_fire, slots
from shared.domain.schedules.daylight import ZonedCron
from tests.unit.schedules.moments import NOW, schedule

KEY = "acme/x"
EXCLUDED = [{"date": f"2026-{month:02}-{day:02}", "reason": ""} for month in range(6, 10) for day in range(1, 26)]
DOCUMENTS: list[dict[str, object]] = [
    {"cron": "*/20 * * * * *", "seconds": True, "timezone": "America/New_York", "window": "PT2H"},
    {"cron": "*/15 * * * *", "window": "PT20M", "exclude": EXCLUDED},
    {"cron": "30 2 * * *", "timezone": "America/New_York", "window": "P1D"},
    {"cron": "0,30 1-3 * * *", "timezone": "Australia/Lord_Howe", "window": "PT3H"},
    {"every": "PT17M", "window": "PT1H"},
    {"every": "PT7H", "start_at": "2026-07-01T00:00:00Z", "end_at": "2026-08-01T00:00:00Z", "window": "PT12H"},
    {"cron": "0 0 29 2 *"},
]
#: Of all legal ones they have the most slots within their window, and the most days to look up.
WORST: dict[str, object] = {
    "cron": "* * 0-11 * * *", "seconds": True, "timezone": "Europe/Berlin", "window": "P1D", "exclude": EXCLUDED,
}  # fmt: skip


def visited(planned: Schedule, after: int, until: int) -> list[Instant]:
    return list(takewhile(lambda slot: slot <= until, slots(planned, Instant(after))))


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_the_first_and_the_last_are_those_that_visiting_each_finds(document: dict[str, object]) -> None:
    random, planned = Random(7), schedule(**document)
    for _ in range(30):
        since = Instant(NOW + random.randrange(90 * DAY))
        until = Instant(since + random.randrange(random.choice([MINUTE, HOUR, DAY])))
        between = visited(planned, since - 1, until)
        fires = {slot: fire_at(planned, KEY, slot) for slot in between}
        assert last_slot(planned, Instant(since - 1), until) == (between[-1] if between else None)
        in_time = [slot for slot, fires_at in fires.items() if fires_at <= until]
        assert last_to_fire(planned, KEY, after=Instant(since - 1), until=until) == (in_time[-1] if in_time else None)
        late = [slot for slot, fires_at in fires.items() if fires_at >= until]
        assert first_to_fire(planned, KEY, since=since, floor=until) == (
            late[0] if late else next(slots(planned, until), None)
        )


@pytest.mark.parametrize("hour", [2, 14])
def test_a_window_that_holds_a_day_of_seconds_is_not_gone_through(hour: int, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    search = ZonedCron.next_after

    def counted(cron: ZonedCron, after: int, excluded: Collection[int] = ()) -> Instant | None:
        looks.append(after)
        return search(cron, after, excluded)

    monkeypatch.setattr(ZonedCron, "next_after", counted)
    planned, floor = schedule(**WORST), Instant(NOW - NOW % DAY + 26 * DAY + hour * HOUR + 1)
    looks.clear()

    assert first_to_fire(planned, KEY, since=Instant(NOW - 30 * DAY), floor=floor) is not None
    assert last_to_fire(planned, KEY, after=Instant(NOW - 30 * DAY), until=Instant(floor + 10 * SECOND)) is not None
    assert len(looks) < 120
