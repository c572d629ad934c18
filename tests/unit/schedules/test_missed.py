"""What an outage left, and what is done about it."""

from __future__ import annotations

from itertools import islice, takewhile
from random import Random
from typing import Any

import pytest

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.schedules import (
    ONE_TIME_MISFIRE,
    Gap,
    Misfire,
    MisfirePlan,
    Missed,
    Schedule,
    default_misfire,
    fire_at,
    missed,
    next_slot,
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


def late_by(misfire: Misfire, planned: Schedule, slot: Instant, late_ms: int) -> bool:
    return misfire.has_missed(planned, "acme/tick", slot, now=Instant(fire_at(planned, "acme/tick", slot) + late_ms))


def test_a_fire_is_missed_once_it_is_past_its_grace() -> None:
    policy, planned = Misfire(grace_ms=MINUTE), schedule(cron="* * * * *")
    assert not late_by(policy, planned, NOW, MINUTE)
    assert late_by(policy, planned, NOW, MINUTE + 1)


@pytest.mark.parametrize(
    ("planned", "grace_ms"),
    [
        ({"every": "PT1S"}, SECOND),
        ({"every": "PT20S"}, 20 * SECOND),
        ({"every": "PT20S", "window": "PT20S"}, 20 * SECOND),
        ({"every": "PT5M"}, MINUTE),
        ({"cron": "*/5 * * * *"}, MINUTE),
    ],
)
def test_by_default_a_fire_is_missed_when_the_next_is_due_but_not_within_a_second_and_after_a_minute_at_the_latest(
    planned: dict[str, Any], grace_ms: int
) -> None:
    planned_schedule = schedule(**planned)
    misfire = default_misfire(planned_schedule)
    assert misfire == Misfire(grace_ms=grace_ms)


def test_the_default_grace_of_a_cron_with_seconds_is_the_gap_to_its_next_slot() -> None:
    planned = schedule(cron="0,10,11 * * * * *", seconds=True)
    misfire = default_misfire(planned)
    graces = {0: 10 * SECOND, 10 * SECOND: SECOND, 11 * SECOND: 49 * SECOND}
    minute = at("2026-06-01T10:00Z")
    for second, grace_ms in graces.items():
        slot = Instant(minute + second)
        assert not late_by(misfire, planned, slot, grace_ms), second
        assert late_by(misfire, planned, slot, grace_ms + 1), second
    daily = schedule(cron="0 0 12 * * *", seconds=True)
    noon = at("2026-06-01T12:00Z")
    assert not late_by(default_misfire(daily), daily, noon, MINUTE)
    assert late_by(default_misfire(daily), daily, noon, MINUTE + 1)


def test_the_default_grace_ends_when_the_next_slot_fires_wherever_jitter_carries_it() -> None:
    planned = schedule(cron="0,10,11 * * * * *", seconds=True, window="PT30S")
    misfire = default_misfire(planned)
    for slot in islice(slots(planned, NOW), 30):
        following = next_slot(planned, slot)
        assert following is not None
        due_at, next_due = (fire_at(planned, "acme/tick", each) for each in (slot, following))
        grace_ms = min(max(next_due - due_at, SECOND), MINUTE)
        assert not late_by(misfire, planned, slot, grace_ms)
        assert late_by(misfire, planned, slot, grace_ms + 1)


def test_a_one_time_job_is_never_too_late() -> None:
    """B05."""
    once = schedule(at="2026-06-11T10:00:00Z")
    assert default_misfire(once) == ONE_TIME_MISFIRE
    assert not late_by(ONE_TIME_MISFIRE, once, at("2026-06-11T10:00Z"), 3650 * DAY)
