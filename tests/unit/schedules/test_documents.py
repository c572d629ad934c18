"""The API's `schedule` object: what is accepted, what is refused and where it points, and that it comes back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant
from shared.domain.schedules import Cron, decode, encode, next_slot, parse_schedule, to_document
from tests.unit.schedules.moments import NOW, schedule

FULL: dict[str, object] = {
    "cron": "30 2 * * MON-FRI",
    "timezone": "Europe/Berlin",
    "dst": "run",
    "start_at": None,
    "end_at": None,
    "max_runs": None,
    "window": "PT0S",
    "exclude": [{"date": "2026-12-25", "reason": "holiday"}],
}
DOCUMENTS: list[dict[str, object]] = [
    FULL,
    {"cron": "@daily"},
    {"cron": "cron(0 12 ? * MON *)", "timezone": "America/New_York", "dst": "skip", "max_runs": 5},
    {"cron": "*/10 0 12 * * *", "seconds": True, "end_at": "2026-12-01T00:00:00Z"},
    {"cron": "rate(5 minutes)", "timezone": "UTC"},
    {"every": "PT90S"},
    {"every": "P1D", "anchor": "2026-07-01T09:00:00+02:00", "window": "PT15M"},
    {"at": "2026-07-01T09:00:00+02:00"},
    {"at": "2026-11-01T01:30:00", "timezone": "America/New_York"},
    {"at": "2026-07-01T09:00:00Z", "timezone": "Asia/Tokyo"},
    {"in": "PT10M"},
]


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_schedule_comes_back_from_its_stored_form(document: dict[str, object]) -> None:
    planned = parse_schedule(document, now=NOW)
    stored = encode(planned)
    assert decode(stored) == planned
    assert hash(decode(stored)) == hash(planned)
    assert all(isinstance(value, int | str | list) for value in stored.values())


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_schedule_comes_back_from_its_document(document: dict[str, object]) -> None:
    planned = parse_schedule(document, now=NOW)
    shown = to_document(planned)
    again = parse_schedule(shown, now=NOW)
    assert to_document(again) == shown
    assert next_slot(again, NOW) == next_slot(planned, NOW)


def test_the_shape_is_the_one_of_the_api() -> None:
    assert to_document(schedule(**FULL)) == FULL


def test_equal_schedules_compare_equal() -> None:
    assert schedule(cron=" 00\t07 * * mon ") == schedule(cron="0 7 * * MON", timezone="UTC", dst="run", window="PT0S")
    assert schedule(cron="@midnight") == schedule(cron="0 0 * * *")


def test_a_missing_zone_is_utc() -> None:
    planned = schedule(cron="@daily")
    assert isinstance(planned, Cron)
    assert planned.timezone == "UTC"


@pytest.mark.parametrize("name", ["Asia/Calcutta", "Europe/Kiev", "US/Eastern", "UTC", "America/Argentina/Ushuaia"])
def test_every_name_of_the_database_is_a_zone(name: str) -> None:
    assert to_document(schedule(cron="@daily", timezone=name))["timezone"] == name


@pytest.mark.parametrize(
    "name",
    [
        "America", "../../etc/passwd", "", "A" * 5000, "zone.tab", "America/New_York\x00", "IST", "+05:30", "localtime",
        "posixrules", "europe/berlin", "UTC ", "Europe/Berlin\n", "/UTC", "./UTC", "tzdata.zi", "Europe//Berlin",
        None, 5, True, ["UTC"], {"UTC": 1},
    ],
    ids=lambda name: repr(name)[:20],
)  # fmt: skip
@pytest.mark.parametrize("kind", [{"cron": "@daily"}, {"at": "2026-07-01T09:00:00"}], ids=["cron", "at"])
def test_any_other_name_is_refused(name: object, kind: dict[str, object]) -> None:
    """R13."""
    with pytest.raises(InvalidRequest) as refused:
        schedule(**kind, timezone=name)
    (problem,) = refused.value.problems
    assert problem.pointer == "#/timezone"
    assert len(problem.detail) < 200


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        ({}, ["#"]),
        ({"timezone": "UTC"}, ["#"]),
        ({"cron": None}, ["#"]),
        ([], ["#"]),
        ("@daily", ["#"]),
        (None, ["#"]),
        ({"cron": "@daily", "every": "PT1H"}, ["#/every"]),
        ({"at": "2026-07-01T09:00:00Z", "in": "PT1H"}, ["#/in"]),
        ({"cron": 5}, ["#/cron"]),
        ({"cron": ["@daily"]}, ["#/cron"]),
        ({"cron": "@daily", "colour": "red"}, ["#/colour"]),
        ({"cron": "@daily", "a/b~c": 1}, ["#/a~1b~0c"]),
        ({"cron": "@daily", "anchor": "2026-07-01T09:00:00Z"}, ["#/anchor"]),
        ({"every": "PT1H", "dst": "skip"}, ["#/dst"]),
        ({"every": "PT1H", "timezone": "UTC"}, ["#/timezone"]),
        ({"in": "PT1H", "timezone": "UTC"}, ["#/timezone"]),
        ({"cron": "@daily", "dst": "twice"}, ["#/dst"]),
        ({"cron": "@daily", "dst": ["run"]}, ["#/dst"]),
        ({"cron": "0 0 0 * * *", "seconds": "yes"}, ["#/seconds"]),
        ({"every": 60}, ["#/every"]),
        ({"every": "P1M"}, ["#/every"]),
        ({"every": "PT1H", "anchor": "2026-07-01"}, ["#/anchor"]),
        ({"in": "-PT1H"}, ["#/in"]),
        ({"in": "P36500D"}, ["#/in"]),
        ({"cron": "@daily", "start_at": "2026-07-01T00:00:00"}, ["#/start_at"]),
        ({"cron": "@daily", "start_at": "1969-07-01T00:00:00Z"}, ["#/start_at"]),
        ({"cron": "@daily", "end_at": 5}, ["#/end_at"]),
        ({"cron": "@daily", "max_runs": 0}, ["#/max_runs"]),
        ({"cron": "@daily", "max_runs": True}, ["#/max_runs"]),
        ({"cron": "@daily", "max_runs": 1.0}, ["#/max_runs"]),
        ({"cron": "@daily", "max_runs": 1_000_001}, ["#/max_runs"]),
        ({"cron": "@daily", "window": "PT24H1S"}, ["#/window"]),
        ({"cron": "@daily", "window": 5}, ["#/window"]),
        ({"cron": "@daily", "exclude": "2026-12-25"}, ["#/exclude"]),
        ({"cron": "@daily", "exclude": ["2026-12-25"]}, ["#/exclude/0"]),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25"}, {"date": "25.12.2026"}]}, ["#/exclude/1/date"]),
        ({"cron": "@daily", "exclude": [{"date": "2026-02-30"}]}, ["#/exclude/0/date"]),
        ({"cron": "@daily", "exclude": [{"date": 5}]}, ["#/exclude/0/date"]),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25", "reason": 5}]}, ["#/exclude/0/reason"]),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25"}] * 2}, ["#/exclude"]),
        ({"cron": "@daily", "exclude": [{"date": "2026-12-25"}] * 101}, ["#/exclude"]),
        ({"cron": "x", "window": "y", "max_runs": "z"}, ["#/max_runs", "#/window", "#/cron"]),
    ],
    ids=str,
)
def test_every_problem_is_pointed_at(document: dict[str, object], pointers: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_schedule(document, now=NOW)
    assert [problem.pointer for problem in refused.value.problems] == pointers
    assert all(problem.detail for problem in refused.value.problems)


def test_stored_numbers_may_come_back_as_decimals() -> None:
    planned = schedule(every="PT90S", max_runs=3, window="PT5S", exclude=[{"date": "2026-12-25", "reason": "x"}])
    stored: dict[str, Any] = {
        name: Decimal(value) if isinstance(value, int) else value for name, value in encode(planned).items()
    }
    stored["ex"] = [[Decimal(day), reason] for day, reason in stored["ex"]]
    again = decode(stored)
    assert again == planned
    assert type(next_slot(again, Instant(NOW))) is int


@pytest.mark.parametrize(
    ("moment", "says"),
    [
        ("2027-01-01T00:00:00+25:00", "an offset is at most 23:59"),
        ("2027-01-01T00:00:00-02:60", "an offset is at most 23:59"),
        ("2027-13-01T00:00:00Z", "month 13 is outside 1-12"),
        ("2027-02-30T00:00:00Z", "that month has no such day"),
        ("2027-02-03T24:00:00Z", "hour 24 is outside 0-23"),
        ("2027-02-03T12:00:60Z", "second 60 is outside 0-59"),
    ],
)
def test_what_no_clock_shows_is_named(moment: str, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        parse_schedule({"at": moment}, now=NOW)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("europe/berlin", ["Europe/Berlin"]),
        ("Europe/Berln", ["Europe/Berlin"]),
        ("new york", ["America/New_York"]),
        ("Kolkata", ["Asia/Kolkata"]),
        ("utc", ["UTC"]),
        ("Mars/Olympus", []),
        ("x" * 10_000, []),
    ],
)
def test_a_wrong_zone_is_refused_with_the_nearest_names(name: str, near: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_schedule({"cron": "0 0 * * *", "timezone": name}, now=NOW)
    (problem,) = refused.value.problems
    assert problem.pointer == "#/timezone"
    assert all(each in problem.detail for each in near)
    assert problem.example == (near[0] if near else "Europe/Berlin")
