"""What POST /v1/schedules/preview shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import DAY, HOUR, LAST_INSTANT, MINUTE, Instant
from shared.domain.schedules import PreviewSlot, preview
from shared.domain.schedules.preview import _skipped
from shared.domain.schedules.slots import compiled
from shared.domain.schedules.spans import pieces, spans_of
from shared.domain.schedules.values import Cron
from tests.unit.schedules.moments import NOW, at, schedule

NEW_YORK = "America/New_York"


def shown(lines: list[PreviewSlot]) -> list[tuple[str, str]]:
    return [(line.local, " ".join(line.marks)) for line in lines]


def test_a_slot_is_shown_in_local_time_and_utc() -> None:
    (line,) = preview(schedule(cron="0 9 * * *", timezone="Asia/Kathmandu"), NOW, 1)
    assert (line.slot, line.local) == (at("2026-06-02T03:15Z"), "2026-06-02T09:00:00.000+05:45")
    assert line.fires


def test_a_shifted_slot_is_marked() -> None:
    after = at("2026-03-07T12:00Z")
    assert shown(preview(schedule(after, cron="30 2 * * *", timezone=NEW_YORK), after, 2)) == [
        ("2026-03-08T03:00:00.000-04:00", "gap_shifted"),
        ("2026-03-09T02:30:00.000-04:00", ""),
    ]


def test_a_slot_that_belongs_to_the_gaps_end_is_not_shifted() -> None:
    after = at("2026-03-07T12:00Z")
    assert shown(preview(schedule(after, cron="0 2,3 * * *", timezone=NEW_YORK), after, 1))[0][1] == ""


def test_skipped_local_times_are_shown_once_for_each_gap() -> None:
    after = at("2026-03-08T06:50Z")
    assert shown(preview(schedule(after, cron="*/20 * * * *", timezone=NEW_YORK), after, 2)) == [
        ("2026-03-08T02:00:00.000", "skipped"),
        ("2026-03-08T03:00:00.000-04:00", ""),
        ("2026-03-08T03:20:00.000-04:00", ""),
    ]


def test_a_job_that_skips_gaps_shows_what_it_skips() -> None:
    after = at("2026-03-07T12:00Z")
    planned = schedule(after, cron="30 2 * * *", timezone=NEW_YORK, dst="skip")
    assert shown(preview(planned, after, 1)) == [
        ("2026-03-08T02:30:00.000", "skipped"),
        ("2026-03-09T02:30:00.000-04:00", ""),
    ]


def test_repeated_local_times_are_marked_on_both_passes() -> None:
    after = at("2026-11-01T04:59Z")
    assert shown(preview(schedule(after, cron="30 * * * *", timezone=NEW_YORK), after, 3)) == [
        ("2026-11-01T01:30:00.000-04:00", "repeated"),
        ("2026-11-01T01:30:00.000-05:00", "repeated"),
        ("2026-11-01T02:30:00.000-05:00", ""),
    ]


def test_an_excluded_date_shows_its_first_slot() -> None:
    planned = schedule(cron="0 */8 * * *", timezone="Asia/Tokyo", exclude=[{"date": "2026-06-02", "reason": "rest"}])
    assert shown(preview(planned, NOW, 1)) == [
        ("2026-06-02T00:00:00.000+09:00", "excluded"),
        ("2026-06-03T00:00:00.000+09:00", ""),
    ]


def test_a_date_without_slots_is_not_shown_as_excluded() -> None:
    planned = schedule(cron="0 0 * * MON", exclude=[{"date": "2026-06-02", "reason": ""}])
    assert shown(preview(planned, NOW, 1)) == [("2026-06-08T00:00:00.000+00:00", "")]


def test_the_jitter_range_ends_before_window_and_next_slot() -> None:
    (line,) = preview(schedule(cron="0 * * * *", window="PT10M"), NOW, 1)
    assert line.latest_fire_at - line.slot == 10 * MINUTE - 1
    (line,) = preview(schedule(cron="* * * * *", window="PT10M"), NOW, 1)
    assert line.latest_fire_at - line.slot == MINUTE - 1
    (line,) = preview(schedule(cron="* * * * *"), NOW, 1)
    assert line.latest_fire_at == line.slot


def test_a_preview_ends_with_the_schedule_and_at_a_hundred() -> None:
    assert len(preview(schedule(cron="* * * * *", max_runs=3), NOW, 50)) == 2  # NOW itself is the first of the three
    assert len(preview(schedule(cron="* * * * *"), NOW, 5000)) == 100


def test_one_time_jobs_and_intervals_are_shown_too() -> None:
    before = at("2026-03-01T00:00Z")
    (line,) = preview(schedule(before, at="2026-03-08T02:30:00", timezone=NEW_YORK), before, 5)
    assert (line.local, line.marks) == ("2026-03-08T03:00:00.000-04:00", ("gap_shifted",))
    (line,) = preview(schedule(at="2026-07-01T00:00:00Z"), NOW, 5)
    assert (line.local, line.marks) == ("2026-07-01T00:00:00.000+00:00", ())
    assert [line.local for line in preview(schedule(every="PT12H"), NOW, 2)] == [
        "2026-06-02T00:00:00.000+00:00",
        "2026-06-02T12:00:00.000+00:00",
    ]


def test_the_last_hours_of_the_calendar_can_be_previewed() -> None:
    after = at("9999-12-31T23:00Z")
    planned = Cron(expression="* * * * *", timezone="Pacific/Pago_Pago")
    assert len(preview(planned, after, 100)) == 59
    jittered = preview(replace(planned, window_ms=HOUR), after, 100)
    assert {line.latest_fire_at for line in jittered[-1:]} == {LAST_INSTANT}


@pytest.mark.parametrize(
    "cron", [{"cron": "59 23 * 2 MON#5"}, {"cron": "0 0 29 2 *"}, {"cron": "30 2 29 2 *", "dst": "skip"}]
)
def test_a_preview_looks_at_the_days_an_expression_names_and_not_at_the_centuries_between(
    cron: dict[str, str],
) -> None:
    planned = schedule(NOW, timezone="Antarctica/Troll", **cron)
    before = spans_of.cache_info().misses

    assert len(preview(planned, NOW, 100)) >= 100
    # The clock of 2,800 years has 20,000 blocks.
    assert spans_of.cache_info().misses - before < 1_500


@pytest.mark.parametrize("zone_name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"])
@pytest.mark.parametrize(
    "cron",
    [
        {"cron": "30 2 * * *", "dst": "skip"},
        {"cron": "*/20 * * * *"},
        {"cron": "15 2 * 3,4,10 SUN", "dst": "skip"},
        {"cron": "* 2 L * *"},
    ],
)
def test_every_gap_that_swallows_slots_is_shown(zone_name: str, cron: dict[str, str]) -> None:
    planned = schedule(NOW, timezone=zone_name, **cron)
    assert isinstance(planned, Cron)
    until = Instant(NOW + 1_500 * DAY)
    zoned = compiled(planned)
    expected = [
        span.start
        for span, start, _ in pieces(zone_name, NOW + 1, until + 1)
        if start == span.start and zoned.gap_time(span) is not None and not zoned.fires_at_gap_end(span)
    ]

    assert [line.slot for line in _skipped(planned, NOW, until)] == expected
