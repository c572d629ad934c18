"""Where the clock changes: gaps, repeats, odd zones, and the job's own choice."""

from __future__ import annotations

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.schedules import count_slots, is_slot, slots
from tests.unit.schedules.moments import at, coming, schedule

NEW_YORK = "America/New_York"


def fires(cron: str, zone: str, after: str, count: int, **options: object) -> list[str]:
    start = at(after)
    return coming(schedule(start, cron=cron, timezone=zone, **options), start, count)


def test_a_missing_time_fires_when_the_gap_ends() -> None:
    assert fires("30 2 * * *", NEW_YORK, "2026-03-08T00:00Z", 2) == ["2026-03-08T07:00Z", "2026-03-09T06:30Z"]


def test_a_job_may_skip_missing_times() -> None:
    assert fires("30 2 * * *", NEW_YORK, "2026-03-08T00:00Z", 1, dst="skip") == ["2026-03-09T06:30Z"]


def test_a_job_that_skips_missing_times_still_fires_at_the_gaps_end_when_that_is_its_time() -> None:
    assert fires("0 3 * * *", NEW_YORK, "2026-03-08T00:00Z", 1, dst="skip") == ["2026-03-08T07:00Z"]


def test_skipping_does_not_touch_repeated_times() -> None:
    for dst in ("run", "skip"):
        found = fires("30 1 * * *", NEW_YORK, "2026-11-01T00:00Z", 2, dst=dst)
        assert found == ["2026-11-01T05:30Z", "2026-11-02T06:30Z"]


def test_a_missing_time_and_the_gaps_end_are_one_slot() -> None:
    start = at("2026-03-08T00:00Z")
    planned = schedule(start, cron="0 2,3 * * *", timezone=NEW_YORK)
    assert coming(planned, start, 2) == ["2026-03-08T07:00Z", "2026-03-09T06:00Z"]
    assert count_slots(planned, start, at("2026-03-09T00:00Z")) == 1


def test_the_boundary_of_a_gap_is_exact() -> None:
    planned = schedule(at("2026-03-07T12:00Z"), cron="59 1 * * *", timezone=NEW_YORK)
    assert is_slot(planned, at("2026-03-08T06:59Z"))
    assert not is_slot(planned, at("2026-03-08T07:00Z"))
    planned = schedule(at("2026-03-07T12:00Z"), cron="59 2 * * *", timezone=NEW_YORK)
    assert is_slot(planned, at("2026-03-08T07:00Z"))


def test_seconds_of_a_missing_minute_are_one_slot() -> None:
    start = at("2026-03-08T00:00Z")
    planned = schedule(start, cron="*/10 30 2 * * *", timezone=NEW_YORK, seconds=True)
    assert count_slots(planned, start, at("2026-03-08T12:00Z")) == 1
    assert next(slots(planned, start)) == at("2026-03-08T07:00Z")


def test_a_repeat_across_midnight_follows_the_clock_back_into_the_old_day() -> None:
    # St. John's went from 00:01 back to 23:01 of the day before.
    zone, start = "America/St_Johns", "2006-10-29T01:00Z"
    assert fires("*/30 0,23 * * *", zone, start, 5) == [
        "2006-10-29T01:30Z",  # 23:00
        "2006-10-29T02:00Z",
        "2006-10-29T02:30Z",  # 00:00, then back to 23:01
        "2006-10-29T03:00Z",
        "2006-10-29T03:30Z",  # 00:00 again
    ]
    assert fires("0 0 * * *", zone, start, 2) == ["2006-10-29T02:30Z", "2006-10-30T03:30Z"]
    assert fires("30 23 * * *", zone, start, 2) == ["2006-10-29T02:00Z", "2006-10-30T03:00Z"]


@pytest.mark.parametrize("zone", ["Pacific/Apia", "Pacific/Fakaofo"])
def test_a_day_that_never_was_has_no_slot(zone: str) -> None:
    start = at("2011-12-28T00:00Z")
    planned = schedule(start, cron="0 12 30 12 *", timezone=zone)
    assert count_slots(planned, start, at("2012-06-01T00:00Z")) == 0


def test_a_day_shown_twice_fires_on_its_first_pass() -> None:
    # Kwajalein crossed the date line in 1969 and had 30 September twice, but for an hour.
    start = at("1969-09-29T00:00Z")
    planned = schedule(start, cron="0 12 30 9 *", timezone="Pacific/Kwajalein")
    assert count_slots(planned, start, at("1969-10-05T00:00Z")) == 1


def test_an_expression_that_daylight_saving_always_swallows_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no slot is left"):
        schedule(cron="*/5 2 * 3 0L", timezone="Europe/Berlin")


def test_every_hour_by_a_list_is_not_repeated_but_by_a_star_it_is() -> None:
    assert fires("0 0-23 * * *", NEW_YORK, "2026-11-01T04:30Z", 2) == ["2026-11-01T05:00Z", "2026-11-01T07:00Z"]
    assert fires("0 * * * *", NEW_YORK, "2026-11-01T04:30Z", 2) == ["2026-11-01T05:00Z", "2026-11-01T06:00Z"]
