"""A timer is where it was set last, or nowhere."""

from __future__ import annotations

import pytest

from functions.scheduler.wheel import TimingWheel
from functions.scheduler.wheel.level import CALM
from tests.unit.wheel.draining import drain, keys

START_MS = 1_795_983_808_520
DISTANCES_MS = [0, 9, 10, 1_270, 1_280, 5_000, 100_000, 12_000_000, 40 * 86_400_000, 500 * 86_400_000]


@pytest.fixture
def wheel() -> TimingWheel:
    return TimingWheel(start_ms=START_MS)


@pytest.mark.parametrize("distance_ms", DISTANCES_MS)
def test_a_cancelled_timer_never_comes_out(wheel: TimingWheel, distance_ms: int) -> None:
    wheel.schedule("timer", START_MS + distance_ms)

    assert wheel.cancel("timer")
    assert not wheel.cancel("timer")
    assert "timer" not in wheel
    assert drain(wheel, START_MS + distance_ms) == []
    assert wheel.next_due(START_MS) is None


@pytest.mark.parametrize("later_ms", DISTANCES_MS)
@pytest.mark.parametrize("earlier_ms", DISTANCES_MS)
def test_a_rescheduled_timer_comes_out_once_at_its_new_instant(
    wheel: TimingWheel, earlier_ms: int, later_ms: int
) -> None:
    wheel.schedule("later", START_MS + earlier_ms)
    wheel.schedule("later", START_MS + later_ms)
    wheel.schedule("earlier", START_MS + later_ms)
    wheel.schedule("earlier", START_MS + earlier_ms)

    assert len(wheel) == 2
    assert wheel.due("later") == START_MS + later_ms
    first, last = sorted((earlier_ms, later_ms))
    assert len(drain(wheel, START_MS + first)) == (2 if first == last else 1)
    assert len(drain(wheel, START_MS + last)) == (0 if first == last else 1)
    assert drain(wheel, START_MS + 2 * last) == []


@pytest.mark.parametrize("count", [10, 5_000])
def test_a_timer_whose_tick_is_partly_due_can_be_moved_and_cancelled(wheel: TimingWheel, count: int) -> None:
    for number in range(count):
        wheel.schedule(f"{number}", START_MS + 5)
    drain(wheel, START_MS + 4)
    wheel.schedule("0", START_MS + 20)
    wheel.schedule("1", START_MS + 4)
    wheel.schedule("2", START_MS + 5)
    assert wheel.cancel("3")

    assert keys(drain(wheel, START_MS + 4)) == ["1"]
    assert sorted(keys(drain(wheel, START_MS + 5)), key=int) == ["2", *(f"{number}" for number in range(4, count))]
    assert keys(drain(wheel, START_MS + 20)) == ["0"]


def test_a_timer_in_a_half_opened_bucket_can_be_moved_and_cancelled(wheel: TimingWheel) -> None:
    for number in range(10_000):
        wheel.schedule(f"{number}", START_MS + 60_000)
    wheel.expire(START_MS + 55_000)
    for number in range(0, 10_000, 2):
        assert wheel.cancel(f"{number}")
        wheel.schedule(f"{number + 1}", START_MS + 60_001)

    assert drain(wheel, START_MS + 60_000) == []
    assert sorted(map(int, keys(drain(wheel, START_MS + 60_001)))) == list(range(1, 10_000, 2))


def test_a_timer_in_the_past_comes_out_at_once_and_before_the_others(wheel: TimingWheel) -> None:
    wheel.schedule("now", START_MS)
    for hours in (3, 1, 2, 700):
        wheel.schedule(f"{hours} h ago", START_MS - hours * 3_600_000)

    assert keys(drain(wheel, START_MS)) == ["700 h ago", "3 h ago", "2 h ago", "1 h ago", "now"]


def test_a_timer_in_a_wide_bucket_does_not_hide_one_in_a_narrower_bucket_before_it() -> None:
    wheel = TimingWheel(start_ms=0, coarse_bits=(2, 4, 6))
    wheel.schedule("narrow", 130)
    wheel.schedule("wide", 700)

    assert drain(wheel, 130) == [("narrow", 130)]


def test_ticks_come_out_in_order(wheel: TimingWheel) -> None:
    for number in range(5_000):
        wheel.schedule(f"{number}", START_MS + number * 7_919 % 5_000 * 37)

    ticks = [due_ms // 10 for _, due_ms in drain(wheel, START_MS + 10**6, limit=70)]

    assert ticks == sorted(ticks)
    assert len(ticks) == 5_000


def test_an_answer_never_exceeds_the_limit(wheel: TimingWheel) -> None:
    for number in range(CALM):
        wheel.schedule(f"{number}", START_MS + number % 10)

    assert [len(wheel.expire(START_MS + 8, limit=20)) for _ in range(4)] == [20, 20, 18, 0]
    with pytest.raises(ValueError, match="limit must be at least 1, not 0"):
        wheel.expire(START_MS, limit=0)


def test_a_cleared_wheel_is_as_good_as_new(wheel: TimingWheel) -> None:
    for distance_ms in DISTANCES_MS:
        wheel.schedule(f"{distance_ms}", START_MS + distance_ms)
    wheel.clear()

    assert len(wheel) == 0
    assert wheel.due("9") is None
    assert drain(wheel, START_MS + 10**12) == []
    wheel.schedule("9", START_MS)
    assert drain(wheel, START_MS) == [("9", START_MS)]
