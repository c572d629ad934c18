"""What the largest legal schedules ask of a node: its work for an entry does not grow with the slots of a window."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

import pytest

from functions.scheduler.recall import Recall
from shared.domain.entry import Entry, first_unsettled
from shared.domain.instants import DAY, MINUTE, Instant
from shared.domain.schedules import Misfire, parse_schedule
from shared.domain.schedules.daylight import ZonedCron

NOW = Instant(1_780_315_200_000)
SPAN = [date(2026, 6, 5) + timedelta(days=number) for number in range(100)]
WORST = {
    "cron": "* * * * * *",
    "seconds": True,
    "timezone": "Europe/Berlin",
    "window": "P1D",
    "exclude": [{"date": day.isoformat(), "reason": "closed"} for day in SPAN],
}


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Each search for a slot of a cron, by where it began."""
    made: list[int] = []
    search = ZonedCron.next_after

    def counted(cron: ZonedCron, after: int, excluded: Collection[int] = ()) -> Instant | None:
        made.append(after)
        return search(cron, after, excluded)

    monkeypatch.setattr(ZonedCron, "next_after", counted)
    return made


def worst_entry(*, fresh: bool) -> Entry:
    schedule = parse_schedule(WORST, now=Instant(NOW - 30 * DAY))
    misfire = Misfire(policy="fire_all", limit=1_000)
    made_at = Instant(NOW - 30 * DAY)
    # A fresh one was parked, perhaps, and not met by any owner since.
    next_at = NOW if fresh else made_at
    return Entry(1, "0#acme/x#1", "acme/x", 1, next_at, made_at, schedule=schedule, misfire=misfire, fresh=fresh)


@pytest.mark.parametrize("fresh", [True, False])
def test_taking_an_entry_over_searches_a_few_slots(searches: list[int], fresh: bool) -> None:
    entry = worst_entry(fresh=fresh)
    searches.clear()

    assert first_unsettled(entry, Instant(NOW - 2_000)) is not None
    assert len(searches) < 50


def test_recalling_what_an_entry_fired_searches_a_few_slots(searches: list[int]) -> None:
    entry = worst_entry(fresh=False)
    recall = Recall(entry, entry.from_at, Instant(NOW + MINUTE))
    searches.clear()

    assert len(recall.slots_fired(Instant(NOW - 10 * MINUTE), NOW, most=20)) == 20
    assert len(searches) < 100
