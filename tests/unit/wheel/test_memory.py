"""Memory follows the timers that live, not those that ever were, nor how far apart they are."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Iterator

import pytest

from functions.scheduler.wheel import TimingWheel

START_MS = 1_795_983_808_520
YEAR_MS = 365 * 86_400_000


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def fill(wheel: TimingWheel, count: int, span_ms: int) -> None:
    for number in range(count):
        wheel.schedule(f"{number:032x}", START_MS + number * 7_919 * 104_729 % span_ms)


def size_of(wheel: TimingWheel) -> int:
    """Every dict, key and instant of the wheel. As tracemalloc has it, at a tenth of its time."""
    buckets = [bucket for level in wheel._levels for bucket in level.buckets.values()]
    buckets += [bucket for level in wheel._levels for filled in level._filled.values() for bucket in filled]
    atoms = sum(sys.getsizeof(key) + sys.getsizeof(due_ms) for key, due_ms in wheel._due.items())
    return atoms + sum(map(sys.getsizeof, [wheel._due, *buckets, *(level.buckets for level in wheel._levels)]))


def test_a_million_timers_take_at_most_200_bytes_each_with_their_keys() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    fill(wheel, 1_000_000, 3_600_000)

    assert len(wheel) == 1_000_000
    assert size_of(wheel) / 1_000_000 <= 200


@pytest.mark.usefixtures("_traced")
def test_the_size_of_a_wheel_is_what_it_allocates() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    fill(wheel, 100_000, 3_600_000)

    assert size_of(wheel) == pytest.approx(tracemalloc.get_traced_memory()[0], rel=0.05)


@pytest.mark.usefixtures("_traced")
def test_timers_years_apart_take_no_more() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    fill(wheel, 100_000, 20 * YEAR_MS)

    assert tracemalloc.get_traced_memory()[0] / 100_000 <= 200


@pytest.mark.usefixtures("_traced")
def test_timers_that_came_and_went_leave_nothing() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(10_000):
        wheel.schedule("moved", START_MS + number * 7_919 * 104_729 % YEAR_MS)
        wheel.schedule(f"{number}", START_MS + number * 1_000)
        wheel.cancel(f"{number}")
    for number in range(10_000):
        wheel.schedule(f"{number}", START_MS + number * 10)
        wheel.expire(START_MS + number * 10)

    assert len(wheel) <= 2
    assert tracemalloc.get_traced_memory()[0] <= 100_000


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="CPython tracks every dict from 3.14 on")
def test_the_garbage_collector_does_not_look_inside() -> None:
    wheel = TimingWheel(start_ms=START_MS)
    fill(wheel, 10_000, YEAR_MS)

    assert not gc.is_tracked(wheel._due)
    assert not any(gc.is_tracked(bucket) for level in wheel._levels for bucket in level.buckets.values())
