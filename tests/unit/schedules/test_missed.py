"""What an outage left, and what is done about it."""

from __future__ import annotations

from itertools import takewhile
from random import Random

import pytest

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.schedules import (
    ONE_TIME_MISFIRE,
    Gap,
    Misfire,
    MisfirePlan,
    Missed,
    Schedule,
    missed,
    plan_misfire,
    slots,
)
from tests.unit.schedules.moments import NOW, at, schedule


def by_enumeration(planned: Schedule, after: Instant, until: Instant, newest: int) -> Missed:
    found = tuple(takewhile(lambda slot: slot <= until, slots(planned, after)))
    if not found:
        return Missed(0, None, None, ())
    return Missed(len(found), found[0], found[-1], found[-newest:] if newest else ())


EVERY_SECOND = {"cron": "* * * * * *", "seconds": True, "timezone": "America/New_York"}
DOCUMENTS: list[dict[str, object]] = [
    {"cron": "*/5 * * * *"},
    {"cron": "30 2 * * *", "timezone": "America/New_York"},
    {"cron": "0,30 1-3 * * *", "timezone": "Australia/Lord_Howe", "exclude": [{"date": "2026-06-11", "reason": ""}]},
    {"cron": "0 9 LW * *", "timezone": "Africa/Casablanca"},
    {"every": "PT17M", "exclude": [{"date": "2026-06-11", "reason": ""}]},
    {"every": "PT7H", "start_at": "2026-07-01T00:00:00Z", "end_at": "2026-08-01T00:00:00Z"},
    {"at": "2026-06-11T00:00:00Z"},
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
@pytest.mark.parametrize("newest", [0, 1, 2, 11])
def test_counting_agrees_with_visiting_each(document: dict[str, object], newest: int) -> None:
    random = Random(newest)
    planned = schedule(**document)
    for _ in range(10):
        after = Instant(NOW + random.randrange(150 * DAY))
        until = Instant(after + random.randrange(random.choice([HOUR, DAY, 30 * DAY])))
        assert missed(planned, after, until, newest=newest) == by_enumeration(planned, after, until, newest)


def test_the_boundaries_are_after_exclusive_and_until_inclusive() -> None:
    planned = schedule(cron="*/5 * * * *")
    five, ten = at("2026-06-01T12:05Z"), at("2026-06-01T12:10Z")
    assert missed(planned, five, ten, newest=9) == Missed(1, ten, ten, (ten,))
    assert missed(planned, Instant(five - 1), ten, newest=2) == Missed(2, five, ten, (five, ten))
    assert missed(planned, five, Instant(ten - 1), newest=9) == Missed(0, None, None, ())
    assert missed(planned, ten, five, newest=9) == Missed(0, None, None, ())


def test_a_night_without_schedulers_is_caught_up_once() -> None:
    """B01."""
    planned = schedule(cron="*/5 * * * *")
    found = missed(planned, at("2026-06-01T20:00Z"), at("2026-06-02T06:03Z"), newest=Misfire().newest_needed)
    assert found.count == 120
    plan = plan_misfire(Misfire(), found)
    assert plan.fire == (at("2026-06-02T06:00Z"),)
    assert plan.skipped == Gap(at("2026-06-01T20:05Z"), at("2026-06-02T05:55Z"), 119)


def test_a_year_of_seconds_is_counted_not_visited() -> None:
    """B01. Visiting 31 million slots would take minutes, and the test's time-out with them."""
    planned = schedule(**EVERY_SECOND)
    until = Instant(NOW + 365 * DAY)
    found = missed(planned, NOW, until, newest=1001)
    assert found.count == 365 * DAY // SECOND
    assert found.newest == tuple(range(until - 1000 * SECOND, until + 1, SECOND))


def test_skipped_slots_leave_one_gap() -> None:
    """B07."""
    skip = Misfire(policy="skip")
    found = missed(schedule(cron="*/5 * * * *"), at("2026-06-01T18:50Z"), at("2026-06-01T19:04Z"), newest=1)
    assert plan_misfire(skip, found) == MisfirePlan((), Gap(at("2026-06-01T18:55Z"), at("2026-06-01T19:00Z"), 2))


def test_the_newest_are_caught_up_and_the_rest_recorded() -> None:
    """B10."""
    policy = Misfire(policy="fire_all", limit=10)
    down, up = at("2026-06-01T12:00Z"), at("2026-06-01T13:00Z")
    plan = plan_misfire(policy, missed(schedule(cron="* * * * *"), down, up, newest=policy.newest_needed))
    assert plan.fire == tuple(up - k * MINUTE for k in range(9, -1, -1))
    assert plan.skipped == Gap(Instant(down + MINUTE), Instant(up - 10 * MINUTE), 50)


@pytest.mark.parametrize(
    ("policy", "fired"),
    [(Misfire(), 1), (Misfire(policy="fire_all", limit=3), 3), (Misfire(policy="skip"), 0)],
    ids=lambda value: str(getattr(value, "policy", value)),
)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5])
def test_every_missed_slot_is_fired_or_in_the_gap(policy: Misfire, fired: int, count: int) -> None:
    all_slots = tuple(Instant(k * MINUTE) for k in range(1, count + 1))
    newest = all_slots[-policy.newest_needed :]
    found = Missed(count, all_slots[0], all_slots[-1], newest) if count else Missed(0, None, None, ())
    plan = plan_misfire(policy, found)
    assert plan.fire == all_slots[max(0, count - fired) :]
    skipped = all_slots[: max(0, count - fired)]
    assert plan.skipped == (Gap(skipped[0], skipped[-1], len(skipped)) if skipped else None)


def test_too_few_newest_slots_are_noticed() -> None:
    found = Missed(5, Instant(1), Instant(5), (Instant(5),))
    with pytest.raises(ValueError, match="fire_once needs the 2 newest"):
        plan_misfire(Misfire(), found)


def test_a_fire_is_missed_once_it_is_past_its_grace() -> None:
    policy = Misfire(grace_ms=MINUTE)
    assert not policy.has_missed(NOW, now=Instant(NOW + MINUTE))
    assert policy.has_missed(NOW, now=Instant(NOW + MINUTE + 1))


def test_a_one_time_job_is_never_too_late() -> None:
    """B05."""
    assert not ONE_TIME_MISFIRE.has_missed(NOW, now=Instant(NOW + 3650 * DAY))
