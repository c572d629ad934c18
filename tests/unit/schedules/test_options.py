"""start_at, end_at, max_runs, exclude and window, on every kind."""

from __future__ import annotations

from itertools import islice

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import DAY, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.schedules import (
    Schedule,
    count_slots,
    fire_at,
    is_slot,
    next_slot,
    parse_schedule,
    slots,
    to_document,
)
from tests.unit.schedules.moments import NOW, at, coming, schedule

CHRISTMAS = [{"date": "2026-12-25", "reason": "holiday"}]


@pytest.mark.parametrize("kind", [{"cron": "0 * * * *"}, {"every": "PT1H", "anchor": "2026-06-01T00:00:00Z"}])
def test_both_bounds_are_inclusive(kind: dict[str, object]) -> None:
    planned = schedule(**kind, start_at="2026-06-02T10:00:00Z", end_at="2026-06-02T12:00:00Z")
    assert coming(planned, NOW, 9) == ["2026-06-02T10:00Z", "2026-06-02T11:00Z", "2026-06-02T12:00Z"]
    assert count_slots(planned, NOW, at("2027-01-01T00:00Z")) == 3
    assert not is_slot(planned, at("2026-06-02T09:00Z"))
    assert not is_slot(planned, at("2026-06-02T13:00Z"))


@pytest.mark.parametrize("kind", [{"cron": "*/7 3 * * *", "timezone": "Asia/Gaza"}, {"every": "PT7M"}])
@pytest.mark.parametrize("runs", [1, 2, 13, 1000])
def test_max_runs_becomes_the_end(kind: dict[str, object], runs: int) -> None:
    planned = schedule(**kind, max_runs=runs)
    unbounded = schedule(**kind)
    assert list(slots(planned, NOW)) == list(islice(slots(unbounded, NOW), runs))
    assert planned.max_runs == runs


def test_max_runs_counts_from_the_start() -> None:
    planned = schedule(cron="0 0 * * *", start_at="2026-08-01T00:00:00Z", max_runs=2)
    assert coming(planned, NOW, 9) == ["2026-08-01T00:00Z", "2026-08-02T00:00Z"]


def test_max_runs_counts_a_slot_at_the_moment_of_creation() -> None:
    planned = schedule(cron="0 12 * * *", max_runs=1)
    assert planned.end_at == NOW
    assert is_slot(planned, NOW)


def test_the_earlier_of_end_and_max_runs_holds() -> None:
    assert (
        coming(schedule(cron="0 0 * * *", end_at="2026-06-03T00:00:00Z", max_runs=9), NOW, 9)[-1] == "2026-06-03T00:00Z"
    )
    assert (
        coming(schedule(cron="0 0 * * *", end_at="2026-09-03T00:00:00Z", max_runs=2), NOW, 9)[-1] == "2026-06-03T00:00Z"
    )


def test_an_end_that_came_from_max_runs_is_not_shown_as_given() -> None:
    document = to_document(schedule(cron="0 0 * * *", max_runs=2))
    assert (document["max_runs"], document["end_at"]) == (2, None)
    assert coming(parse_schedule(document | {"max_runs": 3}, now=NOW), NOW, 9)[-1] == "2026-06-04T00:00Z"


def test_more_runs_than_the_horizon_holds_leave_no_end() -> None:
    assert schedule(cron="0 0 1 1 *", max_runs=1_000_000).end_at is None


def test_excluded_dates_are_dates_of_the_jobs_zone() -> None:
    planned = schedule(cron="0 */12 * * *", timezone="Asia/Tokyo", exclude=CHRISTMAS)
    after = at("2026-12-24T00:00Z")
    assert coming(planned, after, 3) == ["2026-12-24T03:00Z", "2026-12-25T15:00Z", "2026-12-26T03:00Z"]
    assert count_slots(planned, after, at("2026-12-26T03:00Z")) == 3


def test_excluded_dates_of_an_interval_are_utc() -> None:
    planned = schedule(every="PT8H", anchor="2026-12-24T07:00:00Z", exclude=CHRISTMAS)
    after = at("2026-12-24T08:00Z")
    assert coming(planned, after, 3) == ["2026-12-24T15:00Z", "2026-12-24T23:00Z", "2026-12-26T07:00Z"]
    assert count_slots(planned, after, at("2026-12-26T07:00Z")) == 3


def test_a_fire_that_a_gap_moves_past_midnight_belongs_to_its_own_date() -> None:
    # T08: the gap of 28 March 2026 in Nuuk ends on the 29th.
    after, cron, zone = at("2026-03-28T12:00Z"), "30 23 * * SAT", "America/Nuuk"
    own = schedule(after, cron=cron, timezone=zone, exclude=[{"date": "2026-03-28", "reason": ""}])
    other = schedule(after, cron=cron, timezone=zone, exclude=[{"date": "2026-03-29", "reason": ""}])
    assert coming(own, after, 1) == ["2026-04-05T00:30Z"]
    assert coming(other, after, 1) == ["2026-03-29T01:00Z"]


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"cron": "0 0 1 1 *", "start_at": "2026-07-01T00:00:00Z", "end_at": "2026-08-01T00:00:00Z"}, "#/cron"),
        ({"cron": "0 0 * * *", "end_at": "2026-06-01T00:00:00Z"}, "#/cron"),
        ({"cron": "cron(0 0 1 1 ? 2025)"}, "#/cron"),
        ({"every": "PT1H", "end_at": "2026-06-01T12:30:00Z"}, "#/every"),
        ({"every": "PT1H", "start_at": "2026-08-01T00:00:00Z", "end_at": "2026-07-01T00:00:00Z"}, "#/end_at"),
        ({"at": "2026-12-25T12:00:00Z", "exclude": CHRISTMAS}, "#/at"),
        ({"at": "2026-12-25T12:00:00Z", "end_at": "2026-12-25T11:59:59Z"}, "#/at"),
        ({"cron": "cron(0 0 1 1 ? 2199)"}, "#/cron"),
        ({"every": "PT1H", "anchor": "2099-01-01T00:00:00Z"}, "#/every"),
    ],
)
def test_a_schedule_that_can_never_fire_is_refused(document: dict[str, object], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_schedule(document, now=NOW)
    assert [problem.pointer for problem in refused.value.problems] == [pointer]


def test_without_a_window_a_fire_is_its_slot() -> None:
    planned = schedule(cron="0 0 * * *")
    assert fire_at(planned, "o/j", at("2026-06-02T00:00Z")) == at("2026-06-02T00:00Z")


def delays(planned: Schedule, key: str, count: int) -> list[int]:
    return [fire_at(planned, key, slot) - slot for slot in islice(slots(planned, NOW), count)]


def test_jitter_is_never_early_and_stays_below_the_window() -> None:
    found = delays(schedule(cron="0 * * * *", window="PT10M"), "o/j", 500)
    assert min(found) >= 0
    assert max(found) < 10 * MINUTE
    assert len(set(found)) > 400


def test_jitter_stays_below_the_gap_to_the_next_slot() -> None:
    planned = schedule(every="PT2S", window="PT1H")
    fires = [fire_at(planned, "o/j", slot) for slot in islice(slots(planned, NOW), 200)]
    assert max(delays(planned, "o/j", 200)) < 2 * SECOND
    assert fires == sorted(fires)


def test_jitter_is_the_same_for_ever_and_differs_between_jobs() -> None:
    """B43. The number is written down: a change would move fires during a deployment."""
    planned = schedule(cron="0 0 * * *", window="PT1H")
    slot = at("2026-06-02T00:00Z")
    assert fire_at(planned, "owner/job", slot) == fire_at(planned, "owner/job", slot) == slot + 3_241_759
    assert len({fire_at(planned, f"owner/job-{k}", slot) for k in range(100)}) > 90


def test_a_window_of_one_time_jobs_has_no_next_slot_to_mind() -> None:
    planned = schedule(at="2026-06-02T00:00:00Z", window="P1D")
    slot = at("2026-06-02T00:00Z")
    assert 0 <= fire_at(planned, "o/j", slot) - slot < DAY


def test_changing_a_cron_never_fires_at_once() -> None:
    """B34: the next slot comes from now, never from the last run."""
    assert coming(schedule(at("2026-06-01T12:20Z"), cron="0 16 * * *"), at("2026-06-01T12:20Z"), 1) == [
        "2026-06-01T16:00Z"
    ]
    assert coming(schedule(at("2026-06-01T15:00Z"), cron="0 14 * * *"), at("2026-06-01T15:00Z"), 1) == [
        "2026-06-02T14:00Z"
    ]


def test_a_resume_leaves_no_backlog() -> None:
    """B02."""
    assert next_slot(schedule(cron="*/10 * * * *"), at("2026-06-03T00:03Z")) == at("2026-06-03T00:10Z")


def test_a_shown_end_is_as_given() -> None:
    end = "2026-09-03T00:00:00.000Z"
    assert to_document(schedule(cron="0 0 * * *", end_at=end, max_runs=2))["end_at"] == end
    assert (
        to_rfc3339(Instant(schedule(cron="0 0 * * *", end_at=end, max_runs=2).end_at or 0))
        == "2026-06-03T00:00:00.000Z"
    )
