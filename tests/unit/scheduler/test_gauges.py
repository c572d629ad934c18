"""What a node tells of itself."""

from __future__ import annotations

from functions.scheduler.gauges import COUNTED, Gauges, LoopLag
from shared.adapters.memory.clock import ManualClock
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.observability.metrics import UNITS
from tests.unit.scheduler.world import SHARDS, World


def gauges_of(world: World) -> Gauges:
    return Gauges(world.nodes[0], LoopLag(world.clock, 0.01))


def test_every_metric_has_a_unit() -> None:
    world = World()
    world.start_node("a")

    assert {*COUNTED, *gauges_of(world).take()} <= set(UNITS)


def test_a_node_that_fires_tells_what_it_owns_and_what_was_dispatched_since() -> None:
    world = World()
    world.start_node("a")
    world.run(2 * SECOND)
    gauges = gauges_of(world)
    gauges.take()
    world.create("once", at=to_rfc3339(Instant(world.now + 3 * SECOND)))
    world.run(10 * SECOND)

    first, second = gauges.take(), gauges.take()

    assert first["dispatched"] == 1
    assert (first["shards_owned"], first["wheel_size"]) == (SHARDS, 0)
    assert first["beats"] == 10
    assert "dispatched" not in second
    assert second["beats"] == 0
    assert "lost" not in first


def test_a_shard_that_nobody_owns_is_told() -> None:
    world = World()
    node = world.start_node("a")
    node.plan_once()

    assert gauges_of(world).take()["shards_unowned"] == SHARDS
    node.plan_once()
    assert "shards_unowned" not in gauges_of(world).take()


def test_progress_lags_while_a_slot_is_not_settled_or_the_wheel_stands_still() -> None:
    world = World()
    node = world.start_node("a")
    world.run(2 * SECOND)
    node.tick_once()
    assert node.owned.lag_ms(world.now) == 0

    world.clock.advance(30 * SECOND)

    assert node.owned.lag_ms(world.now) == 30 * SECOND


def test_the_lag_of_a_loop_is_its_longest_pause_beyond_its_interval() -> None:
    clock = ManualClock()
    lag = LoopLag(clock, 0.01)
    for pause_ms in (10, 45, 11):
        lag.turn()
        clock.advance(pause_ms)
    lag.turn()

    assert lag.take_ms() == 35
    assert lag.take_ms() == 0
