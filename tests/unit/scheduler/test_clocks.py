"""Clocks that are wrong, or are set: B23, B25."""

from __future__ import annotations

import pytest

from functions.scheduler.node import Node
from shared.adapters.memory.clock import ManualClock
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.timing import CLOCK_BOUND_MS
from tests.unit.scheduler.world import SHARDS, TIMING, World


class SkewedClock(ManualClock):
    """Another host's: the same time passes, from another start."""

    def __init__(self, true: ManualClock, skew_ms: int) -> None:
        super().__init__()
        self._true, self._skew_ms = true, skew_ms

    def now(self) -> Instant:
        return Instant(self._true.now() + self._skew_ms)

    def monotonic(self) -> float:
        return self._true.monotonic()


def skewed(world: World, node_id: str, skew_ms: int) -> Node:
    return world.start_node(node_id, clock=SkewedClock(world.clock, skew_ms))


def owners(world: World) -> list[str | None]:
    return [world.fleet.snapshot().lease(shard).owner for shard in range(SHARDS)]


@pytest.mark.parametrize("skew_ms", [CLOCK_BOUND_MS, -CLOCK_BOUND_MS])
def test_a_node_whose_clock_is_wrong_calls_nobody_dead_and_takes_nothing(skew_ms: int) -> None:
    """B23."""
    world = World()
    world.start_node("right")
    world.create("once", at=to_rfc3339(Instant(world.now + 20 * SECOND)))
    world.run(5 * SECOND)
    wrong = skewed(world, "wrong", skew_ms)
    world.run(30 * SECOND)

    assert owners(world) == ["right"] * SHARDS
    assert wrong.shards == {}
    assert wrong.owned.skew_ms == skew_ms
    assert len(world.sent) == 1
    assert world.sent[0].enqueued_at >= world.sent[0].fire_at - TIMING.lead_ms


def test_a_clock_within_the_guard_takes_part() -> None:
    world = World()
    world.start_node("right")
    world.run(5 * SECOND)
    skewed(world, "close", TIMING.clock_guard_ms)
    world.run(10 * SECOND)
    assert owners(world).count("close") == 2


def test_shards_of_a_node_whose_clock_goes_wrong_stay_where_they_are() -> None:
    """Its workers hold what is early, and it still fires: moving them would pause them."""
    world = World()
    clock = SkewedClock(world.clock, 0)
    world.start_node("a", clock=clock)
    world.run(5 * SECOND)
    clock._skew_ms = 10 * SECOND
    world.run(10 * SECOND)
    assert owners(world) == ["a"] * SHARDS


def test_a_clock_that_is_set_back_fires_nothing_twice() -> None:
    """B25: it reaches T - 0.9 s, jumps to T, fires, steps back to T - 1 s and reaches T again."""
    world = World()
    node = world.start_node("a")
    job = world.create("tick", every="PT10S")
    once = world.create("once", at=to_rfc3339(Instant(world.now + 10 * SECOND)))
    world.run(10 * SECOND - 900)
    assert world.sent == []
    world.clock.step(900)
    world.run(500)
    world.clock.step(-1_500)
    world.run(5 * SECOND)

    assert sorted(each.job_key for each in world.sent) == sorted([job.job_key, once.job_key])
    assert node.counts.dispatched == 2


def test_a_clock_that_jumps_ahead_fires_each_slot_once() -> None:
    world = World()
    world.start_node("a")
    job = world.create("tick", every="PT1S")
    world.run(5 * SECOND)
    world.clock.step(20 * SECOND)
    world.run(5 * SECOND)
    slots = [each.slot for each in world.sent if each.job_key == job.job_key]
    assert len(slots) == len(set(slots)) >= 28
