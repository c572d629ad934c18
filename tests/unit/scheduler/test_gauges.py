"""What a node tells of itself."""

from __future__ import annotations

from collections.abc import Sequence

from functions.scheduler.gauges import COUNTED, Gauges, LoopLag
from shared.adapters.memory.clock import ManualClock
from shared.adapters.memory.due_queue import MemoryDueQueue
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.message import Dispatch
from shared.observability.metrics import UNITS
from shared.ports import SendReport
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


class Away(MemoryDueQueue):
    """Takes nothing."""

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:  # noqa: ARG002
        return SendReport()


def owed_of(world: World) -> list[int]:
    """By shard, for how long."""
    world.nodes[0].owned.take_stock()
    return sorted(world.now - since for since in world.nodes[0].owned.owed_since.values())


def test_nothing_is_owed_while_nothing_is_due() -> None:
    world = World()
    world.start_node("a")
    world.create("later", at=to_rfc3339(Instant(world.now + 200 * SECOND)))
    world.run(10 * SECOND)
    world.tables.is_firing = False
    world.run(100 * SECOND)

    assert owed_of(world) == []


def test_what_is_owed_is_told_by_the_beat_from_when_it_is_due_until_it_is_settled() -> None:
    world = World()
    world.start_node("a")
    world.run(2 * SECOND)
    world.create("once", at=to_rfc3339(Instant(world.now + 10 * SECOND)))
    world.run(9 * SECOND)
    assert owed_of(world) == []
    queue = world.queues["default"]
    world.queues["default"] = Away(world.clock)
    world.run(5 * SECOND)
    [told] = [node.owed_since for node in world.tables.nodes.values()]
    assert told is not None
    assert list(told.values()) == [world.now - 4 * SECOND]
    assert owed_of(world) == [4 * SECOND]
    world.queues["default"] = queue
    world.run(5 * SECOND)
    [told] = [node.owed_since for node in world.tables.nodes.values()]
    assert told == {}


def test_what_cannot_be_read_and_what_could_not_be_fired_are_told_as_one_sum() -> None:
    world = World()
    node = world.start_node("a")
    world.run(2 * SECOND)
    gauges = gauges_of(world)
    next(iter(node.shards.values())).unreadable.put("unreadable", world.now)
    node.counts.set_aside += 2

    assert gauges.take()["set_aside"] == 3
    assert gauges.take()["set_aside"] == 1
