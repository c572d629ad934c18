"""Clocks that are wrong, or are set: B23, B25."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from functions.scheduler.herds import HerdRules
from functions.scheduler.node import Node
from shared.adapters.memory.clock import ManualClock
from shared.domain.errors import OutcomeUnknown
from shared.domain.fleet import Node as Member
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.run import RunKind
from shared.domain.schedules import Misfire
from shared.domain.timing import CLOCK_BOUND_MS
from shared.ports.fleet_store import BeatAnswer
from tests.unit.scheduler.world import SHARDS, STEP_MS, TIMING, World

PATIENT = Misfire("fire_all", grace_ms=None)


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


@pytest.mark.parametrize("skew_ms", [10 * SECOND, -10 * SECOND])
def test_shards_of_a_node_whose_clock_goes_wrong_are_taken_by_one_whose_clock_is_right(skew_ms: int) -> None:
    world = World()
    clock = SkewedClock(world.clock, 0)
    world.start_node("a", clock=clock)
    world.create("tick", every="PT1S", misfire=PATIENT)
    world.run(5 * SECOND)
    clock._skew_ms = skew_ms
    wrong_since = world.now
    world.start_node("b")
    world.run(20 * SECOND)
    assert owners(world) == ["b"] * SHARDS
    assert all(each.enqueued_at < wrong_since or each.epoch > 1 for each in world.sent)
    assert_no_slot_is_missing(world)
    # Once it is right again it takes its part.
    clock._skew_ms = 0
    world.run(20 * SECOND)
    assert owners(world).count("a") == 2


def test_a_node_whose_clock_is_wrong_keeps_its_shards_when_nobody_else_is_right() -> None:
    world = World()
    clock = SkewedClock(world.clock, 0)
    world.start_node("a", clock=clock)
    world.run(5 * SECOND)
    clock._skew_ms = 10 * SECOND
    world.run(10 * SECOND)
    assert owners(world) == ["a"] * SHARDS


def skewed_fleet(world: World) -> list[SkewedClock]:
    clocks = [SkewedClock(world.clock, 0) for _ in range(2)]
    for number, clock in enumerate(clocks):
        world.start_node(f"node-{number}", clock=clock)
        world.run(5 * SECOND)
    return clocks


def assert_no_slot_is_missing(world: World) -> None:
    slots = {each.slot for each in world.sent}
    period = min(second - first for first, second in pairwise(sorted(slots)))
    assert slots == set(range(min(slots), max(slots) + 1, period))
    assert max(slots) >= world.now - 2 * period


@pytest.mark.parametrize("skew_ms", [120 * SECOND, -120 * SECOND, HOUR])
def test_clocks_of_all_nodes_that_are_wrong_for_a_moment_cost_no_slot(skew_ms: int) -> None:
    world = World()
    clocks = skewed_fleet(world)
    job = world.create("tick", every="PT10S")
    world.run(27 * SECOND)
    for clock in clocks:
        clock._skew_ms = skew_ms
    during = world.run(5 * SECOND)
    for clock in clocks:
        clock._skew_ms = 0
    world.run(MINUTE)

    assert during == []
    assert [each.slot for each in world.sent] == list(range(job.created_at + 10 * SECOND, world.now, 10 * SECOND))
    assert all(run.gap is None for run in world.tables.runs.values())
    assert min(each.enqueued_at - each.fire_at for each in world.sent) >= -TIMING.lead_ms - STEP_MS
    assert max(each.enqueued_at - each.fire_at for each in world.sent) <= 6 * SECOND


def test_nodes_whose_clocks_are_right_again_one_after_the_other_call_nobody_dead() -> None:
    world = World()
    clocks = skewed_fleet(world)
    before = world.fleet.snapshot().leases
    for clock in clocks:
        clock._skew_ms = 120 * SECOND
    world.run(10 * SECOND)
    clocks[0]._skew_ms = 0
    world.run(2 * SECOND)
    clocks[1]._skew_ms = 0
    world.run(SECOND)
    leases = world.fleet.snapshot().leases
    assert [leases[shard].epoch for shard in range(SHARDS)] == [before[shard].epoch for shard in range(SHARDS)]


def test_a_node_whose_clock_is_wrong_reads_no_entries() -> None:
    """It would take what it read for read until then, and delete tombstones that others need."""
    world = World()

    class Entries:
        def __getattr__(self, name: str) -> Any:
            if clock._skew_ms and name in {"announced", "parked"}:
                raise OutcomeUnknown(name, "read all the same")
            return getattr(world.entries, name)

    clock = SkewedClock(world.clock, 0)
    world.start_node("a", clock=clock, entries=Entries(), settings={"herds": HerdRules(most_ms=SECOND)})
    world.create("tick", every="PT1S", misfire=PATIENT)
    world.run(5 * SECOND)
    assert world.failures == 0
    clock._skew_ms = HOUR
    world.run(20 * SECOND)
    assert world.failures == 0


def test_a_node_whose_clock_was_wrong_for_longer_than_its_trust_reads_the_epochs_before_it_fires() -> None:
    world = World()
    clock = SkewedClock(world.clock, 0)
    node = world.start_node("a", clock=clock)
    world.run(5 * SECOND)
    assert node.may_dispatch
    clock._skew_ms = HOUR
    world.run(4 * SECOND)
    clock._skew_ms = 0
    assert not node.may_dispatch
    node.beat_once()
    assert not node.may_dispatch
    node.plan_once()
    assert node.may_dispatch


def test_a_clock_that_was_wrong_for_long_skips_no_slot_before_its_time_and_misses_no_job() -> None:
    world = World()
    [clock, _other] = clocks = skewed_fleet(world)
    world.create("often", every="PT5S", misfire=Misfire("skip", grace_ms=2 * SECOND))
    world.run(10 * SECOND)
    for clock in clocks:
        clock._skew_ms = HOUR
    world.run(10 * SECOND)
    late = world.create("once", at=to_rfc3339(Instant(world.now + 5 * SECOND)))
    world.run(4 * MINUTE + 30 * SECOND)
    skipped_by = world.now
    for clock in clocks:
        clock._skew_ms = 0
    world.run(5 * SECOND)
    gaps = [run.gap for run in world.tables.runs.values() if run.gap is not None]
    assert gaps
    assert all(gap.last <= skipped_by for gap in gaps)
    assert sum(each.job_key == late.job_key for each in world.sent) == 1
    world.run(20 * SECOND)
    assert max(each.slot for each in world.sent) >= world.now - 6 * SECOND


@pytest.mark.parametrize("policy", ["skip", "fire_once"])
def test_nothing_is_missed_before_its_time_by_the_clock_of_the_store(policy: Any) -> None:
    """A clock within its bound may be ahead of it by more than the grace."""
    world = World()
    world.start_node("a", clock=SkewedClock(world.clock, TIMING.clock_guard_ms))
    job = world.create("tick", every="PT10S", misfire=Misfire(policy, grace_ms=SECOND))
    world.run(4 * SECOND)
    # A pause of the process, from which it wakes when its own clock shows two seconds past the slot.
    world.clock.advance(3 * SECOND)
    world.run(20 * SECOND)
    assert {each.slot for each in world.sent} >= {job.created_at + 10 * SECOND, job.created_at + 20 * SECOND}
    assert world.sent[0].kind is RunKind.SCHEDULED
    assert all(run.gap is None for run in world.tables.runs.values())


def test_an_answer_that_comes_late_does_not_make_a_clock_wrong() -> None:
    world = World()
    is_slow = False

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(world.fleet, name)

        def beat(self, node: Member) -> BeatAnswer:
            answer = world.fleet.beat(node)
            if is_slow:
                world.clock.advance(8 * SECOND)
            return answer

    node = world.start_node("a", fleet=Slow())
    world.run(5 * SECOND)
    is_slow = True
    node.beat_once()
    is_slow = False
    assert node.owned.clock_agrees


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
