"""The wall clock may stand still, jump and step back; nothing is early, nothing is lost, nothing comes twice."""

from __future__ import annotations

import pytest

from functions.scheduler.wheel import TimingWheel
from functions.scheduler.wheel.level import Level
from tests.unit.wheel.draining import drain, keys

START_MS = 1_795_983_808_520
DAY_MS = 86_400_000


def test_a_step_back_fires_nothing_twice_and_nothing_early() -> None:
    """B25: the clock comes to 0.9 s before, jumps to the instant, fires, steps back a second, comes there again."""
    wheel = TimingWheel(start_ms=START_MS)
    due_ms = START_MS + 5_000
    wheel.schedule("first", due_ms)

    assert drain(wheel, due_ms - 900) == []
    assert drain(wheel, due_ms) == [("first", due_ms)]
    wheel.schedule("second", due_ms)
    assert drain(wheel, due_ms - 1_000) == []
    assert drain(wheel, due_ms - 1) == []
    assert drain(wheel, due_ms) == [("second", due_ms)]


@pytest.mark.parametrize("back_ms", [1, 9, 10, 10_240, 3_600_000, 300 * DAY_MS])
def test_timers_set_after_a_step_back_keep_their_instants(back_ms: int) -> None:
    wheel = TimingWheel(start_ms=START_MS)
    wheel.schedule("ahead", START_MS + 1)
    assert drain(wheel, START_MS) == []
    past_ms = START_MS - back_ms
    assert drain(wheel, past_ms) == []
    wheel.schedule("between", past_ms + back_ms // 2 + 1)

    assert drain(wheel, past_ms + back_ms // 2) == []
    assert keys(drain(wheel, past_ms + back_ms // 2 + 1)) == ["between"]
    assert drain(wheel, START_MS) == []
    assert keys(drain(wheel, START_MS + 1)) == ["ahead"]


def test_timers_that_were_being_split_stay_exact_after_a_step_back() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(1_000):
        wheel.schedule(f"{number}", START_MS + number % 10)
    assert len(drain(wheel, START_MS + 4)) == 500

    assert drain(wheel, START_MS - 10_000) == []
    assert [len(drain(wheel, START_MS + offset_ms)) for offset_ms in range(10)] == [0] * 5 + [100] * 5


def test_a_jump_of_years_costs_no_step_for_each_tick_of_the_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(100):
        wheel.schedule(f"{number}", START_MS + number * 73 * DAY_MS)
    looks = 0
    first_ms = Level.first_ms

    def counted(level: Level) -> int:
        nonlocal looks
        looks += 1
        return first_ms(level)

    monkeypatch.setattr(Level, "first_ms", counted)

    assert keys(drain(wheel, START_MS + 20 * 365 * DAY_MS)) == [f"{number}" for number in range(100)]
    assert looks < 100 * 60


def test_the_hint_is_never_later_than_the_first_timer() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    assert wheel.next_due(START_MS) is None
    for due_ms in (START_MS + 500 * DAY_MS, START_MS + DAY_MS, START_MS + 20_000, START_MS + 11):
        wheel.schedule(f"{due_ms}", due_ms)
        hint_ms = wheel.next_due(START_MS)
        assert hint_ms is not None
        assert START_MS <= hint_ms <= due_ms


def test_the_hint_is_exact_for_a_tick_that_is_partly_due() -> None:
    """A lower bound here would make the caller spin until the tick is over."""
    for count in (1, 5_000):
        wheel = TimingWheel(start_ms=START_MS)
        for number in range(count):
            wheel.schedule(f"{number}", START_MS + 8)
        drain(wheel, START_MS + 1)

        assert wheel.next_due(START_MS + 1) == START_MS + 8


def test_the_hint_of_a_wheel_that_is_late_is_now() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    wheel.schedule("late", START_MS - DAY_MS)

    assert wheel.next_due(START_MS) == START_MS
