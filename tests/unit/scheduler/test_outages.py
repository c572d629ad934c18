"""A table or a queue that does not answer costs time, never a slot: B08, B13, B14, B19, B20, B26, B50."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest

from functions.scheduler.node import Node
from shared.adapters.memory.clock import SeededRandomness
from shared.domain.errors import OutcomeUnknown, StoreThrottled
from shared.domain.fleet import Lease
from shared.domain.fleet import Node as Member
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.message import Dispatch
from shared.domain.run import RunStatus
from shared.domain.schedules import Misfire
from shared.ports import SendReport
from tests.unit.scheduler.world import SHARDS, STEP_MS, World

PATIENT = Misfire("fire_all", grace_ms=None)
STORES = ("fleet", "entries", "jobs", "runs")


@dataclass
class Line:
    """Between a node and what it calls. Cut, every call fails; `calls` counts those that were tried while it was."""

    is_cut: bool = False
    calls: int = 0

    def __call__(self, inner: Any) -> Any:
        return _Cuttable(self, inner)


class _Cuttable:
    def __init__(self, line: Line, inner: Any) -> None:
        self._line, self._inner = line, inner

    def __getattr__(self, name: str) -> Any:
        if not self._line.is_cut:
            return getattr(self._inner, name)

        def fail(*_arguments: Any, **_named: Any) -> Any:
            self._line.calls += 1
            raise OutcomeUnknown(name, "no answer")

        return fail


def over(world: World, line: Line) -> dict[str, Any]:
    """The ports of a node whose tables lie behind the line."""
    return {name: line(getattr(world, name)) for name in STORES}


def queues_over(world: World, line: Line) -> dict[str, Any]:
    return {lane: _Sending(line, queue) for lane, queue in world.queues.items()}


class _Sending:
    """As SQS's adapter: a call that failed is an answer in which nothing is confirmed."""

    def __init__(self, line: Line, inner: Any) -> None:
        self._line, self._inner = line, inner

    def send(self, dispatches: list[Dispatch]) -> SendReport:
        if self._line.is_cut:
            self._line.calls += 1
            return SendReport()
        report: SendReport = self._inner.send(dispatches)
        return report


def tick_every_second(world: World, jobs: int = 20) -> None:
    for number in range(jobs):
        world.create(f"tick-{number}", every="PT1S", misfire=PATIENT)


def assert_no_slot_is_missing(world: World) -> None:
    by_job: dict[str, set[Instant]] = {}
    for each in world.sent:
        by_job.setdefault(each.job_key, set()).add(each.slot)
    assert len(by_job) == len(world.tables.jobs)
    for slots in by_job.values():
        assert slots == set(range(min(slots), max(slots) + 1, SECOND))
        assert max(slots) >= world.now - 2 * SECOND


def epochs(world: World) -> list[int]:
    return [world.fleet.snapshot().lease(shard).epoch for shard in range(SHARDS)]


def test_an_outage_of_the_table_stops_everybody_and_moves_no_shard() -> None:
    world, line = World(), Line()
    for node_id in "ab":
        world.start_node(node_id, **over(world, line))
    tick_every_second(world)
    world.run(10 * SECOND)
    before = epochs(world)
    line.is_cut = True
    cut_at = world.now
    during = world.run(MINUTE)
    assert max(each.enqueued_at for each in during) <= cut_at + 4 * SECOND
    line.is_cut = False
    world.run(20 * SECOND)

    assert epochs(world) == before
    assert_no_slot_is_missing(world)


def test_after_an_outage_of_the_table_firing_goes_on_within_three_seconds() -> None:
    world, line = World(), Line()
    world.start_node("a", **over(world, line))
    tick_every_second(world, jobs=1)
    world.run(10 * SECOND)
    line.is_cut = True
    world.run(MINUTE)
    line.is_cut = False
    back_at = world.now
    assert min(each.enqueued_at for each in world.run(10 * SECOND)) <= back_at + 3 * SECOND


def test_an_outage_of_the_queues_is_waited_for_without_a_storm() -> None:
    world, line = World(), Line()
    world.start_node("a", queues=queues_over(world, line))
    tick_every_second(world)
    world.run(10 * SECOND)
    line.is_cut = True
    world.run(MINUTE)
    # One call at a time, at pauses of a second on average, whatever waits: not 120 batches at every turn.
    assert line.calls <= 120
    line.is_cut = False
    world.run(10 * SECOND)

    assert_no_slot_is_missing(world)
    assert len(world.sent) == len({each.key for each in world.sent})


def test_an_outage_of_one_lane_does_not_delay_the_others() -> None:
    world, line = World(), Line()
    queues = {**world.queues, "catchup": _Sending(line, world.queues["catchup"])}
    world.start_node("a", queues=queues)
    line.is_cut = True
    world.create("late", every="PT1S", misfire=Misfire(grace_ms=SECOND))
    world.clock.advance(MINUTE)
    tick_every_second(world)
    world.run(30 * SECOND)

    assert line.calls > 0
    on_time = [each for each in world.sent if each.job_key != "acme/late"]
    assert max(each.enqueued_at - each.fire_at for each in on_time[40:]) <= 0


def test_throttled_and_unanswered_calls_of_all_tables_lose_nothing() -> None:
    world = World()

    class Shaky:
        def __init__(self, inner: Any, seed: str) -> None:
            self._inner, self._dice = inner, SeededRandomness(seed)

        def __getattr__(self, name: str) -> Any:
            chance = self._dice.fraction()
            if chance < 0.15:
                raise StoreThrottled(name, "too much")
            if chance < 0.3:
                raise OutcomeUnknown(name, "no answer")
            return getattr(self._inner, name)

    for node_id in "ab":
        node = world.start_node(node_id)
        shaky: dict[str, Any] = {name: Shaky(getattr(world, name), node_id + name) for name in STORES}
        node.owned.ports = replace(node.owned.ports, **shaky)
    tick_every_second(world)
    world.run(2 * MINUTE)

    assert world.failures > 100
    world.run(10 * SECOND)
    assert_no_slot_is_missing(world)


def test_an_owner_cut_off_from_the_table_stops_before_another_fires() -> None:
    """B13: it can still send, and must not."""
    world, line = World(), Line()
    cut_off = world.start_node("a", **over(world, line))
    world.run(5 * SECOND)
    world.start_node("b")
    world.run(10 * SECOND)
    tick_every_second(world)
    world.run(10 * SECOND)
    mine = set(cut_off.shards)
    line.is_cut = True
    cut_at = world.now
    world.run(20 * SECOND)

    assert mine
    last_old = max(each.enqueued_at for each in world.sent if each.shard in mine and each.epoch == 1)
    first_new = min(each.enqueued_at for each in world.sent if each.shard in mine and each.epoch > 1)
    assert last_old < cut_at + 4 * SECOND
    assert first_new <= cut_at + 8 * SECOND
    assert_no_slot_is_missing(world)


def test_leases_of_nobody_are_taken_though_the_fleet_is_balanced() -> None:
    """B19."""
    world = World()
    for node_id in "abc":
        world.start_node(node_id)
        world.run(5 * SECOND)
    for shard in range(SHARDS):
        assert world.fleet.take(world.fleet.snapshot().lease(shard), owner="gone") is not None
    world.run(8 * SECOND)
    owners = Counter(world.fleet.snapshot().lease(shard).owner for shard in range(SHARDS))
    assert set(owners) == {"a", "b", "c"}
    assert sorted(owners.values()) == [1, 1, 2]


def test_losing_one_shard_leaves_the_others_on_time() -> None:
    """B20."""
    world = World()
    node = world.start_node("a")
    tick_every_second(world)
    world.run(10 * SECOND)
    stolen = world.fleet.snapshot().lease(2)
    taken = world.fleet.take(stolen, owner="thief")
    assert taken is not None
    # The thief shows signs of life, so that its shard is not taken back, and fires nothing.
    for _ in range(10):
        world.fleet.beat(Member("thief", world.now, "test", 1, Instant(0)))
        world.run(SECOND)

    assert 2 not in node.shards
    late = [each for each in world.sent if each.shard != 2 and each.enqueued_at > each.fire_at]
    assert [each for each in late if each.enqueued_at - each.fire_at > 2 * SECOND] == []
    since = world.now - 8 * SECOND
    assert {each.shard for each in world.sent if each.enqueued_at > since} == {0, 1, 3}


@pytest.mark.parametrize("steps", ["before the send", "after the send", "after half of the send", "after the delete"])
def test_a_crash_around_the_send_loses_nothing(steps: str) -> None:
    """B26: wherever it strikes, each slot is sent, and those sent twice are the same runs."""
    world = World()
    node = world.start_node("a")
    due = world.now + 5 * SECOND
    for number in range(1_000):
        world.create(f"once-{number}", at=to_rfc3339(Instant(due)))
    world.run(4 * SECOND)
    assert world.sent == []
    world.clock.advance(SECOND)
    node.tick_once()
    if steps == "after half of the send":
        real = world.queues["default"]

        class Half:
            def send(self, dispatches: list[Dispatch]) -> SendReport:
                return real.send(dispatches[: len(dispatches) // 2])

        world.queues["default"] = Half()  # type: ignore[assignment]
        node.dispatch_once(hurry=True)
        world.queues["default"] = real
    elif steps != "before the send":
        node.dispatch_once(hurry=True)
    if steps == "after the delete":
        node.tidy_once()
    world.kill(node)
    world.start_node("b")
    world.run(15 * SECOND)

    assert len({each.run_id + each.job_key for each in world.sent}) == 1_000
    assert len(world.tables.runs) == 1_000
    assert world.entry_ids() == set()


def test_what_the_queue_refuses_for_good_fails_and_does_not_pin_the_watermark() -> None:
    """B50: 2 is refused for now, 5 for good, 9 stands in no list."""
    world = World()
    real = world.queues["default"]
    first: list[Dispatch] = []

    class Picky:
        def send(self, dispatches: list[Dispatch]) -> SendReport:
            if first:
                return real.send(dispatches)
            first.extend(dispatches)
            kept = [each for index, each in enumerate(dispatches) if index not in (2, 5, 9)]
            real.send(kept)
            accepted = frozenset(range(len(dispatches))) - {2, 5, 9}
            return SendReport(accepted, {5: "InvalidMessageContents"})

    world.queues["default"] = Picky()  # type: ignore[assignment]
    node = world.start_node("a")
    for number in range(10):
        world.create(f"once-{number}", at=to_rfc3339(Instant(world.now + 5 * SECOND)))
    world.queues["default"] = Picky()  # type: ignore[assignment]
    due = world.now + 5 * SECOND
    for _ in range(int(10 * SECOND / STEP_MS)):
        world.step(node)
        world.clock.advance(STEP_MS)
    world.queues["default"] = real
    world.collect()

    assert len(first) == 10
    counts = Counter(each.key for each in world.sent)
    assert counts == {each.key: 1 for index, each in enumerate(first) if index != 5}
    refused = world.runs.get(first[5].key)
    assert refused is not None
    assert (refused.status, refused.error.type if refused.error else None) == (RunStatus.FAILED, "dispatch_refused")
    assert world.entry_ids() == set()
    assert node.counts.refused == 1
    assert all(shard.unsettled_count == 0 for shard in node.shards.values())
    assert max(lease.watermark for lease in world.fleet.snapshot().leases.values()) >= due


def test_a_stale_lease_of_a_zombie_is_refused_and_tokens_only_rise() -> None:
    """B14."""
    world = World()
    zombie = world.start_node("a")
    tick_every_second(world, jobs=4)
    world.run(10 * SECOND)
    world.kill(zombie)
    world.start_node("b")
    world.run(MINUTE)
    sent = len(world.sent)
    for _ in range(3):
        zombie.tick_once()
        assert zombie.dispatch_once(hurry=True) == 0
        zombie.checkpoint_once()
    world.collect()
    assert len(world.sent) == sent
    assert epochs(world) == [2] * SHARDS
    assert world.fleet.checkpoint(Lease(0, "a", 1, Instant(world.now))) is False


def fires(world: World, node: Node) -> bool:
    before = node.counts.accepted
    world.run(5 * SECOND)
    return node.counts.accepted > before


def test_two_versions_side_by_side_keep_firing_while_one_takes_over_from_the_other() -> None:
    world = World()
    tick_every_second(world)
    old = [world.start_node(f"old-{number}", settings={"version": "1.0.0"}) for number in range(2)]
    world.run(10 * SECOND)
    new = [world.start_node(f"new-{number}", settings={"version": "1.1.0"}) for number in range(2)]
    world.run(10 * SECOND)
    versions = {node.version for node in world.fleet.snapshot().nodes.values()}
    assert versions == {"1.0.0", "1.1.0"}
    assert all(fires(world, node) for node in (*old, *new))
    for node in old:
        world.kill(node)
        node.drain(until=world.clock.monotonic() + 2)
        world.run(5 * SECOND)
    world.run(5 * SECOND)

    assert {lease.owner for lease in world.fleet.snapshot().leases.values()} == {"new-0", "new-1"}
    assert_no_slot_is_missing(world)
    assert max(each.enqueued_at - each.fire_at for each in world.sent[100:]) <= 2 * SECOND
