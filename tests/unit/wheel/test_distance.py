"""However far away a timer is, it comes out at its instant: not a millisecond early, not a turn early, never lost."""

from __future__ import annotations

import pytest

from functions.scheduler.wheel import TimingWheel
from functions.scheduler.wheel.timing_wheel import COARSE_BITS
from tests.unit.wheel.draining import drain

EPOCH_MS = 1_795_983_808_520
DAY_MS = 86_400_000


def delays_around_levels(width: int) -> list[int]:
    return [
        *(0, 1, width - 1, width, width + 1, 2 * width - 1, 2 * width, 2 * width + 1),
        *(width**2 - 1, width**2, width**2 + 1, width**3 - 1, width**3, width**3 + 1, width**4 + 1),
    ]


def assert_fires_exactly(wheel: TimingWheel, due_ms: int, start_ms: int) -> None:
    wheel.schedule("timer", due_ms)
    if due_ms > start_ms:
        assert drain(wheel, start_ms) == []
        assert drain(wheel, due_ms - 1) == []
    assert drain(wheel, due_ms) == [("timer", due_ms)]
    assert len(wheel) == 0


@pytest.mark.parametrize("bits", [1, 3, 7, 9, 10])
@pytest.mark.parametrize("index", ["first", "second", "last"])
@pytest.mark.parametrize("offset_ms", [0, 3, 9])
def test_a_delay_at_the_edge_of_a_level_is_kept_exactly(bits: int, index: str, offset_ms: int) -> None:
    width = 2**bits
    start_tick = width**3 + {"first": 0, "second": 1, "last": width - 1}[index]
    for delay in delays_around_levels(width):
        wheel = TimingWheel(start_ms=start_tick * 10, coarse_bits=(bits, 2 * bits, 3 * bits))
        assert_fires_exactly(wheel, (start_tick + delay) * 10 + offset_ms, start_tick * 10)


@pytest.mark.parametrize("index", [0, 1, 127, 2**20 - 1, 2**30 - 1])
def test_a_delay_at_the_edge_of_the_levels_as_shipped_is_kept_exactly(index: int) -> None:
    for bits in COARSE_BITS:
        for delay in delays_around_levels(2**bits)[:8]:
            wheel = TimingWheel(start_ms=(2**30 + index) * 10)
            assert_fires_exactly(wheel, (2**30 + index + delay) * 10 + 3, (2**30 + index) * 10)


def test_a_timer_longer_than_one_turn_is_not_fired_a_turn_early() -> None:
    """B29: Apollo: 512 slots, hand at 200, a delay of 600 ticks fired after 88."""
    wheel = TimingWheel(start_ms=2_000, coarse_bits=(9, 18, 27))
    wheel.schedule("timer", 8_000)

    early = [tick for tick in range(200, 800) if wheel.expire(tick * 10)]

    assert early == []
    assert wheel.expire(8_000) == [("timer", 8_000)]


def test_the_example_of_the_docstring_is_true() -> None:
    wheel = TimingWheel(start_ms=0, coarse_bits=(2, 4, 6))
    for key, due_ms in (("a", 25), ("b", 130), ("c", 700)):
        wheel.schedule(key, due_ms)

    assert [sorted(level.buckets) for level in wheel._levels] == [[], [2], [3], [], [1]]
    assert (wheel.expire(24), wheel.expire(25), wheel.expire(100)) == ([], [("a", 25)], [])
    assert [sorted(level.buckets) for level in wheel._levels] == [[], [13], [], [], [1]]
    assert (wheel.expire(130), wheel.expire(9_999)) == ([("b", 130)], [("c", 700)])


@pytest.mark.parametrize("delay_ms", [2**31 - 2, 2**31 - 1, 2**31, 2**32, 30 * DAY_MS, 400 * DAY_MS, 20 * 365 * DAY_MS])
def test_a_delay_no_32_bit_timer_can_hold_is_kept_exactly(delay_ms: int) -> None:
    assert_fires_exactly(TimingWheel(start_ms=EPOCH_MS), EPOCH_MS + delay_ms, EPOCH_MS)


def test_a_far_timer_is_exact_when_every_wake_up_is_followed() -> None:
    wheel = TimingWheel(start_ms=EPOCH_MS)
    due_ms = EPOCH_MS + 400 * DAY_MS + 7
    wheel.schedule("timer", due_ms)
    now_ms, wake_ups = EPOCH_MS, 0
    while (wake_ms := wheel.next_due(now_ms)) is not None and wake_ms < due_ms:
        assert wheel.expire(wake_ms) == []
        now_ms, wake_ups = wake_ms, wake_ups + 1

    assert wake_ms == due_ms
    assert wake_ups <= 4
    assert wheel.expire(due_ms) == [("timer", due_ms)]


@pytest.mark.parametrize("tick_ms", [1, 7, 10, 1000])
def test_a_tick_is_only_a_bucket(tick_ms: int) -> None:
    wheel = TimingWheel(tick_ms=tick_ms, start_ms=EPOCH_MS)
    for offset_ms in range(25):
        wheel.schedule(f"{offset_ms}", EPOCH_MS + offset_ms)

    for offset_ms in range(25):
        assert drain(wheel, EPOCH_MS + offset_ms) == [(f"{offset_ms}", EPOCH_MS + offset_ms)]


def test_a_timer_before_1970_comes_out_first() -> None:
    wheel = TimingWheel(start_ms=0)
    wheel.schedule("present", 0)
    wheel.schedule("past", -12_345_678)

    assert drain(wheel, 0) == [("past", -12_345_678), ("present", 0)]


@pytest.mark.parametrize("tick_ms", [0, -10])
def test_a_tick_without_width_is_refused(tick_ms: int) -> None:
    with pytest.raises(ValueError, match=f"tick_ms must be at least 1, not {tick_ms}"):
        TimingWheel(start_ms=0, tick_ms=tick_ms)


@pytest.mark.parametrize("coarse_bits", [(), (0,), (7, 7), (20, 7)])
def test_levels_that_do_not_get_wider_are_refused(coarse_bits: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="coarse_bits must rise from at least 1"):
        TimingWheel(start_ms=0, coarse_bits=coarse_bits)
