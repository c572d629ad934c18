"""What was handed to a queue and has no run is dispatched again; what needs none is left alone."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

from functions.scheduler.audit_rules import AuditRules
from functions.scheduler.node import Node
from shared.adapters.memory.run_store import MemoryRunStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.keys import RunKey, run_id_of
from shared.domain.message import Dispatch
from shared.domain.run import Run
from shared.domain.schedules import Misfire
from shared.schema import CATCH_UP_LANE
from tests.unit.scheduler.world import World


def purge_first(world: World, count: int = 1) -> None:
    """The first `count` deliveries of each run are lost."""
    seen: Counter[str] = Counter()

    def purges(dispatch: Dispatch) -> bool:
        seen[dispatch.run_id] += 1
        return seen[dispatch.run_id] <= count

    world.purges = purges


def counted(node: Node) -> dict[str, int]:
    counts = node.counts
    return {"resent": counts.resent, "lost": counts.lost, "overlooked": counts.overlooked}


NOTHING = {"resent": 0, "lost": 0, "overlooked": 0}


def at(instant: int) -> str:
    return to_rfc3339(Instant(instant))


def test_a_message_that_was_purged_is_sent_again_a_minute_later() -> None:
    """B55."""
    world = World()
    node = world.start_node("a")
    purge_first(world)
    job = world.create("once", at=at(world.now + 10 * SECOND))

    sent = world.run(3 * MINUTE)

    assert len(sent) == 2
    assert MINUTE <= sent[1].enqueued_at - sent[0].fire_at <= MINUTE + 20 * SECOND
    assert sent[1].run_id == sent[0].run_id
    assert world.runs.get(RunKey(job.job_key, sent[0].run_id)) is not None
    assert counted(node) == NOTHING | {"resent": 1}


def test_it_waits_in_the_catch_up_lane() -> None:
    world = World()
    lanes: list[str] = []

    class Lane:
        def __init__(self, name: str, inner: Any) -> None:
            self.name, self.inner = name, inner

        def send(self, dispatches: list[Dispatch]) -> Any:
            lanes.extend(self.name for _ in dispatches)
            return self.inner.send(dispatches)

    world.start_node("a", queues={name: Lane(name, queue) for name, queue in world.queues.items()})
    purge_first(world)
    world.create("once", at=at(world.now + 10 * SECOND))
    world.run(3 * MINUTE)

    assert lanes == ["default", CATCH_UP_LANE]


@pytest.mark.parametrize("schedule", [{"every": "PT1M"}, {"every": "PT1M", "window": "PT20S"}, {"every": "P1D"}])
def test_a_purged_slot_of_a_recurring_job_is_sent_again(schedule: dict[str, Any]) -> None:
    world = World()
    node = world.start_node("a")
    job = world.create("tick", **schedule, anchor=at(world.now + 5 * SECOND))
    world.purges = lambda dispatch: len(world.sent) < 2 and dispatch.job_key == job.job_key

    world.run(3 * MINUTE)

    first = world.sent[0]
    assert [each.run_id for each in world.sent].count(first.run_id) == 2
    assert world.runs.get(RunKey(job.job_key, first.run_id)) is not None
    assert counted(node) == NOTHING | {"resent": 1}


def test_a_healthy_fleet_sends_nothing_again_and_looks_everything_up() -> None:
    world = World()
    nodes = [world.start_node("a"), world.start_node("b")]
    for number in range(20):
        world.create(f"tick-{number}", every="PT10S", window="PT3S")
        world.create(f"once-{number}", at=at(world.now + number * SECOND))
    world.run(5 * MINUTE)

    assert [counted(node) for node in nodes] == [NOTHING] * 2
    old = [each for each in world.sent if each.fire_at < world.now - 2 * MINUTE]
    assert sum(node.counts.audited for node in nodes) >= len(old)
    assert sum(node.counts.unaudited for node in nodes) == 0


def test_after_three_times_without_a_run_it_is_lost_and_named(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    node = world.start_node("a")
    world.is_worked = False
    job = world.create("once", at=at(slot := world.now + 10 * SECOND))
    with caplog.at_level(logging.ERROR):
        world.run(30 * MINUTE)

    [lost] = [vars(record) for record in caplog.records if vars(record).get("action") == "fire.lost"]
    assert (lost["job_key"], lost["run_id"], lost["slot"]) == (job.job_key, run_id_of(Instant(slot)), at(slot))

    assert len(world.sent) == 4
    assert counted(node) == NOTHING | {"resent": 3, "lost": 1}


def test_slots_that_the_misfire_policy_left_out_are_not_sent() -> None:
    world = World()
    node = world.start_node("a")
    world.create("tick", every="PT10S", misfire=Misfire(grace_ms=20 * SECOND))
    world.create("skips", every="PT10S", misfire=Misfire("skip", grace_ms=20 * SECOND))
    world.run(30 * SECOND)
    world.fleet.set_firing(is_firing=False)
    world.run(4 * MINUTE)
    world.fleet.set_firing(is_firing=True)
    world.run(8 * MINUTE)

    assert counted(node) == NOTHING
    assert node.counts.skipped > 20


def test_what_another_owner_may_have_left_out_is_not_sent() -> None:
    world = World()
    first = world.start_node("a")
    world.create("skips", every="PT10S", misfire=Misfire("skip", grace_ms=20 * SECOND))
    world.run(30 * SECOND)
    world.fleet.set_firing(is_firing=False)
    world.run(3 * MINUTE)
    world.fleet.set_firing(is_firing=True)
    world.run(5 * SECOND)
    world.kill(first)
    second = world.start_node("b")
    world.run(8 * MINUTE)

    assert counted(second) == NOTHING
    assert second.counts.audited > 0


def test_what_another_owner_dispatched_is_looked_up_where_nothing_can_have_been_left_out() -> None:
    world = World()
    first = world.start_node("a")
    job = world.create("tick", every="PT1M", misfire=Misfire("fire_all", grace_ms=None))
    world.purges = lambda _: len(world.sent) < 2
    world.run(70 * SECOND)
    world.kill(first)
    second = world.start_node("b")
    world.run(5 * MINUTE)

    assert world.runs.get(RunKey(job.job_key, world.sent[0].run_id)) is not None
    assert counted(second) == NOTHING | {"resent": 1}


def test_slots_of_an_older_generation_need_no_run() -> None:
    world = World()
    node = world.start_node("a")
    job = world.create("tick", every="PT10S")
    world.run(25 * SECOND)
    world.is_worked = False
    world.run(30 * SECOND)
    paused = world.reschedule(job, state=JobState.PAUSED)
    world.run(5 * SECOND)
    world.is_worked = True
    world.reschedule(paused, state=JobState.ACTIVE)
    world.run(5 * MINUTE)

    assert counted(node) == NOTHING


def test_with_the_brake_on_nothing_is_sent_again() -> None:
    world = World()
    world.start_node("a")
    purge_first(world)
    world.create("once", at=at(world.now + 10 * SECOND))
    world.run(30 * SECOND)
    world.fleet.set_firing(is_firing=False)
    world.run(5 * MINUTE)
    assert len(world.sent) == 1

    world.fleet.set_firing(is_firing=True)
    world.run(1 * MINUTE)
    assert len(world.sent) == 2


class Watched(MemoryRunStore):
    """Counts what is read, and refuses the first reads."""

    refusals = 0

    def __init__(self, world: World) -> None:
        super().__init__(world.tables)
        self.read: list[int] = []

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        if self.refusals:
            self.refusals -= 1
            raise StoreThrottled("runs.get_many", "too much")
        self.read.append(len(keys))
        return super().get_many(keys)


def test_reads_stay_within_the_budget_whatever_fires() -> None:
    world = World()
    runs = Watched(world)
    node = world.start_node("a", runs=runs)
    for number in range(60):
        world.create(f"tick-{number}", every="PT1S")
    rare = world.create("rare", every="PT1M")
    world.purges = lambda dispatch: dispatch.job_key == rare.job_key
    world.run(5 * MINUTE)

    assert max(runs.read) <= AuditRules().rows_at_once == 100
    assert sum(runs.read) <= 5 * 600
    # Those that fire often do not crowd out the others.
    assert node.counts.resent >= 1


def test_what_could_not_be_read_is_read_next_time() -> None:
    world = World()
    runs = Watched(world)
    runs.refusals = 3
    world.start_node("a", runs=runs)
    purge_first(world)
    world.create("once", at=at(world.now + 10 * SECOND))

    world.run(3 * MINUTE)

    assert world.failures == 3
    assert len(world.sent) == 2


def test_what_is_remembered_is_bounded_and_the_rest_is_counted() -> None:
    world = World()
    node = world.start_node("a", settings={"audit": AuditRules(most_remembered=10)})
    for number in range(30):
        world.create(f"once-{number}", at=at(world.now + 10 * SECOND))
    world.run(3 * MINUTE)

    assert node.counts.audited == 10
    assert node.counts.unaudited == 20


def test_a_timer_that_the_wheel_forgot_fires_after_all() -> None:
    world = World()
    node = world.start_node("a")
    job = world.create("tick", every="PT1H", anchor=at(world.now + 5 * SECOND), misfire=Misfire(grace_ms=None))
    world.run(2 * SECOND)
    for shard in node.shards.values():
        shard.fires.wheels._wheels.clear()
    world.run(3 * MINUTE)

    assert [each.job_key for each in world.sent] == [job.job_key]
    assert node.counts.overlooked == 1


def test_a_late_start_is_counted() -> None:
    world = World()
    world.create("once", at=at(world.now + SECOND))
    world.clock.advance(MINUTE)
    node = world.start_node("a")
    world.run(3 * MINUTE)

    assert (node.counts.audited, node.counts.late) == (1, 1)


def test_a_lost_shard_takes_what_was_remembered_of_it_along() -> None:
    world = World()
    node = world.start_node("a")
    purge_first(world)
    for number in range(20):
        world.create(f"once-{number}", at=at(world.now + 10 * SECOND))
    world.run(15 * SECOND)
    for number in list(node.shards):
        node.owned.lose(number, None)

    assert node.dispatcher.auditor.take_remembered(Instant(world.now + HOUR)) == []
