"""One-time jobs: an instant, a duration from now, or a local time."""

from __future__ import annotations

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import MINUTE, Instant, to_rfc3339
from shared.domain.limits import MAX_PAST_MS
from shared.domain.schedules import At, Schedule, is_slot, next_slot
from tests.unit.schedules.moments import NOW, at, schedule

BEFORE = at("2026-03-01T00:00Z")


def instant_of(planned: Schedule) -> str:
    assert isinstance(planned, At)
    return to_rfc3339(planned.instant)


@pytest.mark.parametrize(
    ("local", "instant"),
    [
        ("2026-03-08T02:30:00", "2026-03-08T07:00:00.000Z"),  # R19: into the gap's end
        ("2026-11-01T01:30:00", "2026-11-01T05:30:00.000Z"),  # R19: the first pass
        ("2026-03-08T01:59:59.999", "2026-03-08T06:59:59.999Z"),
        ("2026-03-08T03:00", "2026-03-08T07:00:00.000Z"),
        ("2026-11-01T02:00:00", "2026-11-01T07:00:00.000Z"),
        ("2026-07-01T12:00:00", "2026-07-01T16:00:00.000Z"),
    ],
)
def test_a_local_time_goes_by_the_rule_of_cron(local: str, instant: str) -> None:
    assert instant_of(schedule(BEFORE, at=local, timezone="America/New_York")) == instant


def test_a_local_time_on_a_day_that_never_was_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="never was"):
        schedule(at("2011-12-01T00:00Z"), at="2011-12-30T12:00:00", timezone="Pacific/Apia")


@pytest.mark.parametrize("text", ["2026-06-02T03:00:00+02:00", "2026-06-02t01:00:00z", "2026-06-02T01:00:00.000Z"])
def test_an_instant_may_have_any_offset(text: str) -> None:
    assert instant_of(schedule(at=text)) == "2026-06-02T01:00:00.000Z"


def test_a_duration_counts_from_now() -> None:
    planned = schedule(in_="PT90S")
    assert planned == At(instant=Instant(NOW + 90_000))
    assert next_slot(planned, NOW) == NOW + 90_000


def test_a_one_time_job_fires_once() -> None:
    planned = schedule(in_="PT1M")
    assert next_slot(planned, Instant(NOW + MINUTE - 1)) == NOW + MINUTE
    assert next_slot(planned, Instant(NOW + MINUTE)) is None
    assert is_slot(planned, Instant(NOW + MINUTE))


def test_a_minute_of_past_is_accepted_and_no_more() -> None:
    oldest = Instant(NOW - MAX_PAST_MS)
    assert instant_of(schedule(at=to_rfc3339(oldest))) == to_rfc3339(oldest)
    with pytest.raises(InvalidRequest, match="before now"):
        schedule(at=to_rfc3339(Instant(oldest - 1)))


@pytest.mark.parametrize("years", [1, 20, 49])
def test_far_instants_are_kept_exactly(years: int) -> None:
    """B28: no 32-bit number of milliseconds is involved."""
    text = f"{2026 + years}-06-01T12:00:00.001Z"
    assert instant_of(schedule(at=text)) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2026-06-02T01:00:00", "no offset"),
        ("2026-06-02", "not a date and time"),
        ("20260602T010000Z", "not a date and time"),
        ("2026-W23-2T01:00:00Z", "not a date and time"),
        ("\u0662026-06-02T01:00:00Z", "not a date and time"),
        ("\u0662\u0660\u0662\u0666-06-02T01:00:00Z", "not a date and time"),
        ("2026-06-02T01:00:00Z\n", "not a date and time"),
        ("2026-06-31T01:00:00Z", "not on the calendar"),
        ("2026-06-02T24:30:00Z", "not on the calendar"),
        ("2026-06-02T23:59:60Z", "not on the calendar"),
        ("2026-06-02T01:00:00+99:00", "an offset is at most 23:59"),
        ("0000-01-01T00:00:00Z", "not on the calendar"),
        ("0001-01-01T00:00:00+01:00", "before now"),
        ("9999-12-31T23:59:59-12:00", "50 years"),
        ("tomorrow", "not a date and time"),
        (1_795_983_808_528, "not a date and time"),
        (True, "not a date and time"),
        ({}, "not a date and time"),
    ],
)
def test_what_is_no_instant_is_refused(text: object, says: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        schedule(at=text)
    (problem,) = refused.value.problems
    assert problem.pointer == "#/at"
    assert says in problem.detail
