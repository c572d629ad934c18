"""ISO 8601 durations as milliseconds and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.durations import MAX_DURATION_MS, format_duration, parse_duration
from shared.domain.errors import InvalidRequest
from shared.domain.instants import DAY, HOUR, MINUTE


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT90S", 90_000),
        ("PT1H30M", 90 * MINUTE),
        ("P1D", DAY),
        ("P2W", 14 * DAY),
        ("P1DT1H", 25 * HOUR),
        ("PT0S", 0),
        ("PT0.5S", 500),
        ("PT0.005S", 5),
        ("PT36H", 36 * HOUR),
        ("P36525D", MAX_DURATION_MS),
    ],
)
def test_a_duration_is_read(text: str, duration_ms: int) -> None:
    assert parse_duration(text) == duration_ms


@pytest.mark.parametrize(
    "text",
    [
        "", "P", "PT", "P1DT", "1D", "PT1", "P1H", "PT1D", "-PT1S", "PT-1S", "PT1.5H", "PT1S ", "PT1S\n", "pt1s",
        "P1Y", "P1M", "P1Y2M", "PT1M1H", "PT\u0661S", "PT0.0001S", "PT99999999999999999999S", "P36526D", 90, None, True,
        1.5, [], "PT1,5S",
    ],
)  # fmt: skip
def test_anything_else_is_refused_at_its_field(text: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_duration(text, "#/timeout")
    assert [problem.pointer for problem in refused.value.problems] == ["#/timeout"]


def test_calendar_durations_are_sent_to_cron() -> None:
    with pytest.raises(InvalidRequest, match="use cron"):
        parse_duration("P1M")


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "PT0S"),
        (MINUTE, "PT60S"),
        (90_000, "PT90S"),
        (5 * MINUTE, "PT5M"),
        (HOUR, "PT1H"),
        (DAY, "P1D"),
        (250, "PT0.250S"),
    ],
)
def test_a_duration_is_written_the_usual_way(duration_ms: int, text: str) -> None:
    assert format_duration(duration_ms) == text


@given(st.integers(0, MAX_DURATION_MS))
def test_what_is_written_reads_back(duration_ms: int) -> None:
    assert parse_duration(format_duration(duration_ms)) == duration_ms
