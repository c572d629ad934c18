"""L, W and # on real months, beyond what the collected cases show."""

from __future__ import annotations

import pytest

from tests.unit.schedules.moments import at, coming, schedule

START = at("2025-12-31T00:00Z")


def dates(days: str, count: int = 4, *, weekday: str = "*", month: str = "*") -> list[str]:
    planned = schedule(START, cron=f"0 12 {days} {month} {weekday}")
    return [text.removesuffix("T12:00Z") for text in coming(planned, START, count)]


def test_the_first_weekday_stays_in_its_month() -> None:
    # 1 February and 1 March 2026 are Sundays, 1 August is a Saturday.
    assert dates("1W", 3) == ["2026-01-01", "2026-02-02", "2026-03-02"]
    assert dates("1W", 1, month="8") == ["2026-08-03"]


def test_the_last_weekday_stays_in_its_month() -> None:
    # 31 May 2026 is a Sunday, 31 October a Saturday.
    assert dates("31W", 2, month="5,10") == ["2026-05-29", "2026-10-30"]
    assert dates("LW", 3) == ["2025-12-31", "2026-01-30", "2026-02-27"]


def test_the_nearest_weekday_goes_to_friday_or_monday() -> None:
    # 15 August 2026 is a Saturday, 15 November a Sunday.
    assert dates("15W", 2, month="8,11") == ["2026-08-14", "2026-11-16"]


def test_the_last_day_joins_other_days() -> None:
    assert dates("1,L", 4) == ["2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01"]


def test_the_last_day_or_a_weekday() -> None:
    assert dates("L", 3, weekday="MON") == ["2025-12-31", "2026-01-05", "2026-01-12"]


def test_two_numbered_weekdays_are_united() -> None:
    assert dates("*", 3, weekday="MON#1,MON#3") == ["2026-01-05", "2026-01-19", "2026-02-02"]


@pytest.mark.parametrize("sunday", ["0L", "7L", "SUNL"])
def test_the_last_sunday_by_any_name(sunday: str) -> None:
    assert dates("*", 2, weekday=sunday) == ["2026-01-25", "2026-02-22"]


def test_days_wrap_into_the_next_month() -> None:
    assert dates("30-2", 5) == ["2025-12-31", "2026-01-01", "2026-01-02", "2026-01-30", "2026-01-31"]


def test_a_leap_day_on_a_sunday_is_found_forty_years_on() -> None:
    # 2088 is followed by 2128, since 2100 has no leap day.
    start = at("2088-03-01T00:00Z")
    assert coming(schedule(start, cron="0 0 29 2 */7"), start, 1) == ["2128-02-29T00:00Z"]


def test_aws_days_and_years() -> None:
    start = at("2026-06-02T00:00Z")
    assert coming(schedule(start, cron="cron(15 10 ? * 6L *)"), start, 2) == ["2026-06-26T10:15Z", "2026-07-31T10:15Z"]
    assert coming(schedule(start, cron="cron(0 8 ? * 2#1 *)"), start, 2) == ["2026-07-06T08:00Z", "2026-08-03T08:00Z"]
    assert coming(schedule(start, cron="cron(0 8 L * ? 2027/2)"), start, 1) == ["2027-01-31T08:00Z"]
    assert coming(schedule(start, cron="cron(0 8 1 1 ? 2027-2028)"), start, 9) == [
        "2027-01-01T08:00Z",
        "2028-01-01T08:00Z",
    ]
