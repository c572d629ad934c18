"""`every` and `rate(...)`: anchored, exact, for ever."""

from __future__ import annotations

from itertools import islice

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.schedules import Every, count_slots, is_slot, next_slot, slots
from tests.unit.schedules.moments import NOW, at, coming, schedule


def test_slot_k_is_the_anchor_plus_k_intervals() -> None:
    """B32: one thousand slots of a minute later nothing has drifted."""
    planned = schedule(every="PT60S", anchor=to_rfc3339(NOW))
    found = list(islice(slots(planned, NOW), 1000))
    assert found == [NOW + k * MINUTE for k in range(1, 1001)]
    assert found[-1] == at("2026-06-02T04:40Z")


def test_a_late_question_does_not_shift_the_phase() -> None:
    planned = schedule(every="PT1M")
    assert next_slot(planned, Instant(NOW + 3 * SECOND)) == NOW + MINUTE
    assert next_slot(planned, Instant(NOW + MINUTE)) == NOW + 2 * MINUTE
    assert next_slot(planned, Instant(NOW + MINUTE - 1)) == NOW + MINUTE


def test_an_anchor_somebody_gave_is_a_slot() -> None:
    planned = schedule(every="PT1H", anchor="2026-06-01T13:30:00Z")
    assert coming(planned, NOW, 2) == ["2026-06-01T13:30Z", "2026-06-01T14:30Z"]
    assert not is_slot(planned, at("2026-06-01T12:30Z"))


def test_without_an_anchor_the_first_slot_is_one_interval_after_creation() -> None:
    planned = schedule(every="PT1H")
    assert isinstance(planned, Every)
    assert planned.anchor == NOW
    assert next_slot(planned, Instant(NOW - 1)) == NOW + HOUR
    assert count_slots(planned, Instant(NOW - DAY), NOW) == 0


def test_an_old_anchor_gives_the_phase() -> None:
    planned = schedule(every="PT7M", anchor="2020-01-01T00:00:00Z")
    found = next_slot(planned, NOW)
    assert found is not None
    assert (found - at("2020-01-01T00:00Z")) % (7 * MINUTE) == 0
    assert 0 < found - NOW <= 7 * MINUTE


@pytest.mark.parametrize(
    ("rate", "interval_ms"),
    [("rate(1 minute)", MINUTE), ("rate(5 minutes)", 5 * MINUTE), ("rate(1 hour)", HOUR), (" rate(7 days) ", 7 * DAY)],
)
def test_an_aws_rate_is_an_interval(rate: str, interval_ms: int) -> None:
    assert schedule(cron=rate) == Every(interval_ms=interval_ms, anchor=NOW, includes_anchor=False)


@pytest.mark.parametrize(
    "rate",
    [
        "rate(1 hours)", "rate(3 minute)", "rate(0 minutes)", "rate(-1 days)", "rate(1.5 hours)", "rate(1 week)",
        "rate(5)", "rate(5  minutes)", "rate(05 minutes)", "rate(5 minutes", "rate(9999999 days)", "rate(\u0665 days)",
        "rate()", "Rate(5 minutes)", "rate(5 MINUTES)", "rate(5 minutes) ?", "rate(5 minutes)\n",
    ],
)  # fmt: skip
def test_what_aws_refuses_as_a_rate_is_refused(rate: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        schedule(cron=rate)
    assert refused.value.problems[0].pointer == "#/cron"


def test_an_interval_is_a_second_at_least() -> None:
    assert schedule(every="PT1S").window_ms == 0
    for text in ("PT0S", "PT0.999S"):
        with pytest.raises(InvalidRequest, match="shorter than PT1S"):
            schedule(every=text)


def test_the_last_slot_of_the_calendar_ends_it() -> None:
    planned = schedule(every="PT1H")
    assert next_slot(planned, at("9999-12-31T22:30Z")) == at("9999-12-31T23:00Z")
    assert next_slot(planned, at("9999-12-31T23:00Z")) is None


def test_phases_stay_spread_after_a_restart() -> None:
    """B44: the phase comes from the stored anchor, not from when a process started."""
    planned = [schedule(every="PT60S", anchor=to_rfc3339(Instant(NOW + k * 120))) for k in range(500)]
    after_restart = at("2026-07-01T00:00Z")
    phases = {(next_slot(each, after_restart) or 0) % MINUTE for each in planned}
    assert len(phases) == 500
