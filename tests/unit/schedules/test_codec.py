"""The stored form is written down here, for stored rows outlive a release."""

from __future__ import annotations

import pytest

from shared.domain.errors import MessageUnreadable
from shared.domain.schedules import At, Cron, Every, Schedule, decode, encode
from tests.unit.schedules.moments import at, schedule

STORED: list[tuple[Schedule, dict[str, object]]] = [
    (At(instant=at("2026-06-02T00:00Z")), {"v": 1, "k": "at", "t": 1_780_358_400_000}),
    (Cron(expression="0 7 * * *"), {"v": 1, "k": "cron", "x": "0 7 * * *", "z": "UTC"}),
    (
        Cron(expression="0 0 7 * * *", timezone="Asia/Tokyo", dst="skip", has_seconds=True, window_ms=5000),
        {"v": 1, "k": "cron", "x": "0 0 7 * * *", "z": "Asia/Tokyo", "dst": "skip", "s": 1, "w": 5000},
    ),
    (Every(interval_ms=60_000, anchor=at("1970-01-01T00:00Z")), {"v": 1, "k": "every", "ms": 60_000, "a": 0}),
]


@pytest.mark.parametrize(("planned", "stored"), STORED)
def test_the_stored_form_stays(planned: Schedule, stored: dict[str, object]) -> None:
    assert encode(planned) == stored
    assert decode(stored) == planned


def test_every_option_is_stored() -> None:
    planned = schedule(
        cron="0 7 * * *",
        start_at="2026-07-01T00:00:00Z",
        end_at="2027-07-01T00:00:00Z",
        max_runs=5,
        window="PT1M",
        exclude=[{"date": "2026-07-03", "reason": "rest"}],
    )
    assert decode(encode(planned)) == planned
    assert set(encode(planned)) == {"v", "k", "x", "z", "start", "end", "given_end", "runs", "w", "ex"}


@pytest.mark.parametrize("stored", [{}, {"v": 2, "k": "at", "t": 0}, {"v": 1, "k": "moon"}, {"v": 1}])
def test_a_form_of_another_release_is_unreadable(stored: dict[str, object]) -> None:
    with pytest.raises(MessageUnreadable):
        decode(stored)
