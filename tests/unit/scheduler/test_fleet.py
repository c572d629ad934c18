from __future__ import annotations

import pytest

from functions.scheduler.settings import ShardCountPinned
from shared.domain.fleet import Lease
from shared.domain.instants import SECOND, Instant
from shared.ports import SendReport
from tests.unit.scheduler.world import SHARDS, World, slots_of


def owners(world: World) -> list[str | None]:
    return [world.fleet.snapshot().lease(shard).owner for shard in range(SHARDS)]


def test_a_lone_node_takes_every_shard() -> None:
    world = World()
    world.start_node("a")
    world.run(1 * SECOND)
    assert owners(world) == ["a"] * SHARDS


def test_a_second_node_gets_its_share_one_shard_at_a_time() -> None:
    world = World()
    world.start_node("a")
    world.run(2 * SECOND)
    world.start_node("b")
    world.run(1 * SECOND)
    assert owners(world).count("b") == 1
    world.run(9 * SECOND)
    assert owners(world).count("b") == 2


def test_nothing_is_lost_when_a_shard_moves_to_a_live_node() -> None:
    world = World()
    world.start_node("a")
    for number in range(20):
        world.create(f"tick-{number}", every="PT1S")
    world.run(5 * SECOND)
    world.start_node("b")
    sent = world.run(20 * SECOND)
    assert_every_second_fired(sent, jobs=20)


def test_a_dead_nodes_shards_are_taken_and_its_late_slots_dispatched() -> None:
    world = World()
    node = world.start_node("a")
    world.start_node("b")
    for number in range(20):
        world.create(f"tick-{number}", every="PT1S")
    world.run(10 * SECOND)
    world.kill(node)
    killed_at = world.now
    sent = world.run(20 * SECOND)
    assert owners(world) == ["b"] * SHARDS
    assert_every_second_fired([*world.sent], jobs=20)
    taken_over = [each for each in sent if each.fire_at > killed_at and each.enqueued_at > each.fire_at]
    assert max(each.enqueued_at - each.fire_at for each in taken_over) <= 8 * SECOND


def assert_every_second_fired(sent: list, *, jobs: int) -> None:  # type: ignore[type-arg]
    by_job: dict[str, set[Instant]] = {}
    for each in sent:
        by_job.setdefault(each.job_key, set()).add(each.slot)
    assert len(by_job) == jobs
    for slots in by_job.values():
        assert slots == set(range(min(slots), max(slots) + 1, SECOND))


def test_a_drained_node_leaves_its_shards_at_once() -> None:
    """B58."""
    world = World()
    node = world.start_node("a")
    world.start_node("b")
    world.run(10 * SECOND)
    world.kill(node)
    node.drain(until=world.clock.monotonic() + 2)
    world.run(1 * SECOND)
    assert owners(world) == ["b"] * SHARDS


def test_a_node_that_cannot_beat_stops_dispatching_before_it_is_taken_for_dead() -> None:
    world = World()
    node = world.start_node("a")
    world.create("tick", every="PT1S")
    world.run(5 * SECOND)
    world.kill(node)
    cut_off_at = world.now
    while world.now < cut_off_at + 10 * SECOND:
        node.tick_once()
        node.dispatch_once()
        world.clock.advance(50)
    world.collect()
    last = max(each.enqueued_at for each in world.sent)
    assert last < cut_off_at + 4 * SECOND


def test_a_zombie_dispatches_nothing_until_it_has_read_its_epochs() -> None:
    world = World()
    zombie = world.start_node("a")
    world.create("tick", every="PT1S")
    world.run(3 * SECOND)
    world.kill(zombie)
    world.start_node("b")
    world.run(15 * SECOND)
    assert owners(world) == ["b"] * SHARDS
    zombie.beat_once()
    zombie.tick_once()
    assert zombie.dispatch_once(hurry=True) == 0
    zombie.plan_once()
    stored = world.fleet.snapshot()
    assert all(shard.lease.epoch == stored.lease(number).epoch for number, shard in zombie.shards.items())
    assert all(shard.coverage.loaded_at is not None for shard in zombie.shards.values())


def test_a_zombies_checkpoint_is_refused_and_drops_the_shard() -> None:
    world = World()
    zombie = world.start_node("a")
    world.create("tick", every="PT1S")
    world.run(3 * SECOND)
    world.kill(zombie)
    for shard in range(SHARDS):
        seen = world.fleet.snapshot().lease(shard)
        assert world.fleet.take(seen, owner="b") is not None
    zombie.checkpoint_once()
    before = [world.fleet.snapshot().lease(shard).watermark for shard in range(SHARDS)]
    assert len(zombie.shards) < SHARDS
    assert [world.fleet.snapshot().lease(shard).watermark for shard in range(SHARDS)] == before


def test_the_watermark_never_passes_an_unsettled_slot() -> None:
    world = World()

    class Deaf:
        def send(self, dispatches: list[object]) -> SendReport:
            assert dispatches
            return SendReport()

    node = world.start_node("a")
    world.create("tick", every="PT1S")
    world.run(5 * SECOND)
    world.queues["default"] = Deaf()  # type: ignore[assignment]
    deaf_at = world.now
    for _ in range(60):
        world.step(node)
        world.clock.advance(100)
    assert max(lease.watermark for lease in world.fleet.snapshot().leases.values()) < deaf_at + SECOND


def test_the_brake_stops_every_dispatch_and_misfires_follow_their_policy_afterwards() -> None:
    world = World()
    world.start_node("a")
    world.create("tick", every="PT1S")
    world.run(3 * SECOND)
    world.fleet.set_firing(is_firing=False)
    world.run(2 * SECOND)
    assert world.run(5 * 60 * SECOND) == []
    world.fleet.set_firing(is_firing=True)
    sent = world.run(10 * SECOND)
    caught_up = [each for each in sent if each.kind == "catch_up"]
    assert len(caught_up) == 1
    gaps = [run for run in world.tables.runs.values() if run.gap is not None]
    assert len(gaps) == 1
    assert gaps[0].gap is not None
    assert gaps[0].gap.last + SECOND == caught_up[0].slot


def test_another_shard_count_refuses_to_start() -> None:
    world = World()
    world.fleet.pin_shard_count(SHARDS * 2)
    with pytest.raises(ShardCountPinned, match="this fleet has 8 shards"):
        world.start_node("a")


def test_a_race_for_a_shard_has_one_winner() -> None:
    world = World()
    seen = Lease(0)
    assert world.fleet.take(seen, owner="a") is not None
    assert world.fleet.take(seen, owner="b") is None


def test_slots_out_while_nobody_lived_are_fired_late_by_the_first_node() -> None:
    world = World()
    world.create("once", at="2026-11-27T00:00:10Z")
    world.clock.advance(600 * SECOND)
    world.start_node("a")
    sent = world.run(3 * SECOND)
    assert slots_of(sent) == [Instant(1_795_737_610_000)]


def test_a_shard_whose_take_was_never_answered_is_taken_again() -> None:
    world = World()
    node = world.start_node("a")
    # The take happened, but the node never heard of it.
    assert world.fleet.take(Lease(2), owner="a") is not None
    node.plan_once()
    assert node.shards[2].lease.epoch == 2


def test_a_shard_that_was_anothers_meanwhile_is_dropped_before_it_is_taken_again() -> None:
    """So that what is in memory always has the epoch that the table has: the owner alone says what was lost."""
    world = World()
    node = world.start_node("a")
    node.plan_once()
    before = dict(node.shards)
    for number in range(SHARDS):
        taken = world.fleet.take(world.fleet.snapshot().lease(number), owner="gone")
        assert taken is not None
        assert world.fleet.disown(taken)
    node.plan_once()
    assert all(node.shards[number] is not before[number] for number in range(SHARDS))
    leases = world.fleet.snapshot().leases
    assert {number: shard.lease.epoch for number, shard in node.shards.items()} == dict.fromkeys(range(SHARDS), 3)
    assert {number: lease.epoch for number, lease in leases.items()} == dict.fromkeys(range(SHARDS), 3)
