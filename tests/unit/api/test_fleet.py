"""What the fleet shows: who lives, as far as the answering process can tell, and what is owed."""

from __future__ import annotations

from collections.abc import Mapping

from shared.domain.fleet import Node
from shared.domain.instants import HOUR, SECOND, Instant
from tests.unit.api.world import World


def beat(world: World, beats: int, *, owed_since: Mapping[int, Instant] | None = None) -> None:
    started_at = Instant(world.clock.now() - HOUR)
    world.fleet.beat(Node("node-1", beats, "1.2.3", 1, started_at, owed_since))


def status(world: World) -> str:
    [node] = world.send("GET", "/v1/fleet").json["nodes"]
    return str(node["status"])


def lags(world: World) -> list[int | None]:
    return [shard["lag_ms"] for shard in world.send("GET", "/v1/fleet").json["shards"]]


def test_a_node_whose_beat_changes_is_alive_and_one_whose_beat_stays_is_silent() -> None:
    world = World()
    beat(world, 7)
    assert status(world) == "unknown", "nobody can tell at the first look"
    world.clock.advance(SECOND)
    beat(world, 8)
    assert status(world) == "alive"
    world.clock.advance(4 * SECOND - 1)
    assert status(world) == "alive"
    world.clock.advance(1)
    assert status(world) == "silent"
    beat(world, 9)
    assert status(world) == "alive"


def test_a_node_that_was_dead_at_the_first_look_is_silent_four_seconds_later() -> None:
    world = World()
    beat(world, 7)
    assert status(world) == "unknown"
    world.clock.advance(3 * SECOND)
    assert status(world) == "unknown"
    world.clock.advance(SECOND)
    assert status(world) == "silent"


def test_each_process_judges_by_what_it_has_seen_itself() -> None:
    world = World()
    beat(world, 7)
    status(world)
    world.clock.advance(10 * SECOND)
    assert status(world) == "silent"
    world.handler = world.process()
    assert status(world) == "unknown"


def test_lag_is_about_what_is_owed_and_does_not_rise_while_nothing_is_due() -> None:
    world = World()
    world.own_shards("node-1", watermark=Instant(world.clock.now() - 1_500))
    beat(world, 2, owed_since={2: Instant(world.clock.now() - 700)})
    assert lags(world) == [0, 0, 700, 0]
    world.clock.advance(HOUR)
    beat(world, 3, owed_since={})
    assert lags(world) == [0, 0, 0, 0]


def test_where_nobody_says_what_is_owed_it_may_be_anything_since_the_watermark() -> None:
    world = World()
    assert lags(world) == [None] * 4
    world.own_shards("node-1", watermark=world.clock.now())
    beat(world, 2, owed_since={})
    assert lags(world) == [0] * 4
    world.clock.advance(5 * SECOND)
    assert lags(world) == [5 * SECOND] * 4, "the node is silent"
    beat(world, 3)
    assert lags(world) == [5 * SECOND] * 4, "a node of an earlier release"
    beat(world, 4, owed_since={})
    assert lags(world) == [0] * 4
    world.fleet.remove_node("node-1")
    assert lags(world) == [5 * SECOND] * 4
