"""What a node tells on the bus: of rows that it writes itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from functions.scheduler.gauges import Gauges, LoopLag
from shared.adapters.memory import MemoryEventBus, MemoryRunStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import MINUTE, SECOND
from shared.domain.run import Run
from shared.domain.schedules import Misfire
from shared.observability.announcing import Announcements
from tests.unit.scheduler.world import World

SKIP = Misfire(policy="skip", grace_ms=10 * SECOND, limit=10)


def outage(world: World, bus: MemoryEventBus, **ports: Any) -> Announcements:
    """A job of every minute, five minutes of which nobody is there to fire; then a node."""
    announcements = Announcements(bus)
    world.create("tick", misfire=SKIP, every="PT1M")
    world.clock.advance(5 * MINUTE + 30 * SECOND)
    world.start_node("a", announcements=announcements, **ports)
    world.run(10 * SECOND)
    announcements.publish_once()
    return announcements


def test_slots_that_the_misfire_policy_leaves_out_are_told_as_one_gap() -> None:
    world, bus = World(), MemoryEventBus()
    outage(world, bus)

    [event] = [event for event in bus.events if event.type.value == "run.skipped"]

    [row] = [run for run in world.tables.runs.values() if run.gap is not None]
    assert row.gap is not None
    assert (event.detail["job_id"], event.detail["run_id"]) == ("tick", row.run_id)
    assert (event.detail["reason"], event.detail["gap"]["count"]) == ("misfire", row.gap.count)
    assert row.gap.count >= 4


class Refusing(MemoryRunStore):
    def record(self, runs: object) -> list[bool]:
        raise StoreThrottled("runs.record", f"on purpose: {runs}")


def test_nothing_is_told_of_a_gap_that_is_not_written() -> None:
    world, bus = World(), MemoryEventBus()
    outage(world, bus, runs=Refusing(world.tables))

    assert bus.events == []


def test_a_gap_that_was_recorded_before_is_not_told_again() -> None:
    world, bus = World(), MemoryEventBus()
    before = MemoryRunStore(world.tables)

    class Recorded(MemoryRunStore):
        def record(self, runs: Sequence[Run]) -> list[bool]:
            before.record(runs)
            return super().record(runs)

    outage(world, bus, runs=Recorded(world.tables))

    assert bus.events == []
    assert [run for run in world.tables.runs.values() if run.gap is not None] != []


def test_a_job_that_ends_with_a_skipped_slot_is_told_to_be_completed() -> None:
    world, bus = World(), MemoryEventBus()
    announcements = Announcements(bus)
    world.create("once", misfire=SKIP, **{"in": "PT1M"})
    world.clock.advance(3 * MINUTE)
    world.start_node("a", announcements=announcements)
    world.run(10 * SECOND)
    announcements.publish_once()

    assert [event.type.value for event in bus.events] == ["run.skipped", "job.completed"]


def test_events_that_were_lost_are_a_metric_of_the_node() -> None:
    class Away(MemoryEventBus):
        def publish(self, events: object) -> None:
            raise StoreThrottled("events.publish", f"on purpose: {events}")

    world = World()
    outage(world, Away())

    [node] = world.nodes
    gauges = Gauges(node, LoopLag(world.clock, 0.01))
    assert gauges.take()["events_lost"] == 1
    assert "events_lost" not in gauges.take()
