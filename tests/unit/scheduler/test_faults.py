"""Whatever a step raises, and wherever: each slot is in a wheel, in the outbox, among the rows, or in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from functions.scheduler import fires, firing, recording
from functions.scheduler.due import Due
from functions.scheduler.node import Node
from functions.scheduler.outbox import BATCH
from functions.scheduler.settings import R, T
from shared.domain.entry import Entry
from shared.domain.errors import WriteRefused
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.message import Dispatch
from shared.domain.run import Run
from shared.domain.schedules import Misfire
from shared.ports import RunStore, SendReport
from tests.unit.scheduler.world import SHARDS, World

PATIENT = Misfire("fire_all", grace_ms=None)


class Refusing:
    """A queue that cannot be called at all, while `is_broken`: no right, no such queue, an expired token."""

    def __init__(self, inner: Any, fault: Exception) -> None:
        self._inner, self._fault = inner, fault
        self.is_broken = True

    def send(self, dispatches: list[Dispatch]) -> SendReport:
        if self.is_broken:
            raise self._fault
        report: SendReport = self._inner.send(dispatches)
        return report


def once(world: World, count: int, **more: Any) -> None:
    due = to_rfc3339(Instant(world.now + 5 * SECOND))
    for number in range(count):
        world.create(f"once-{number}", at=due, **more)


def jobs_sent(world: World) -> set[str]:
    return {each.job_key for each in world.sent}


def watermarks(world: World) -> list[Instant]:
    return [world.fleet.snapshot().lease(shard).watermark for shard in range(SHARDS)]


@pytest.mark.parametrize("fault", [WriteRefused("queue.send", "AccessDenied"), ValueError("no such answer")])
def test_a_queue_that_raises_costs_no_slot_of_it_nor_of_another_lane(fault: Exception) -> None:
    world = World(bears=Exception)
    catch_up = Refusing(world.queues["catchup"], fault)
    node = world.start_node("a", queues={**world.queues, "catchup": catch_up})
    for number in range(3 * BATCH):
        world.create(f"late-{number}", every="PT10M")
    world.clock.advance(15 * MINUTE)
    once(world, 20 * BATCH)
    world.run(20 * SECOND)
    assert world.failures > 0
    assert len(jobs_sent(world)) == 20 * BATCH

    catch_up.is_broken = False
    world.run(20 * SECOND)
    assert len(jobs_sent(world)) == 23 * BATCH
    assert sum(shard.unsettled_count for shard in node.shards.values()) == 0


def test_a_batch_that_fails_keeps_no_other_from_its_turn() -> None:
    world = World()
    once(world, 5 * BATCH)
    world.create("bad", at=to_rfc3339(Instant(world.now + 5 * SECOND)), lane="long")
    world.clock.advance(5 * SECOND)
    bad = Refusing(world.queues["long"], ValueError("no such answer"))
    node = world.start_node("a", queues={**world.queues, "long": bad})
    for step in (node.plan_once, node.load_once, node.tick_once):
        step()
    # It has its turn first.
    lanes = node.dispatcher.outbox._lanes
    node.dispatcher.outbox._lanes = {name: lanes[name] for name in sorted(lanes, reverse=True)}
    with pytest.raises(ValueError, match="no such answer"):
        node.dispatch_once(hurry=True)
    world.collect()
    assert len(world.sent) == 5 * BATCH
    assert node.dispatcher.unsent == 1


def test_batches_that_no_thread_took_go_back_in_their_order() -> None:
    world = World(bears=Exception)
    is_short = True

    def spread(call: Callable[[T], R], items: Iterable[T], /) -> Iterator[R]:
        for number, item in enumerate(items):
            if number == 2 and is_short:
                raise RuntimeError("can't start new thread")
            yield call(item)

    node = world.start_node("a")
    node.dispatcher.spread = spread
    once(world, 10 * BATCH)
    world.run(4 * SECOND)
    world.clock.advance(SECOND)
    node.tick_once()
    waiting = [due.run_id + due.entry.job_key for due in node.dispatcher.outbox._lanes["default"].waiting]
    with pytest.raises(RuntimeError):
        node.dispatch_once(hurry=True)
    left = [due.run_id + due.entry.job_key for due in node.dispatcher.outbox._lanes["default"].waiting]
    assert left == waiting[2 * BATCH :]

    is_short = False
    world.run(SECOND)
    assert len(world.sent) == len(jobs_sent(world)) == 10 * BATCH


def test_an_entry_that_cannot_be_fired_keeps_no_other_from_its_turn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    node = world.start_node("a")
    bad = world.create("bad", every="PT1S", misfire=PATIENT)
    for number in range(20):
        world.create(f"tick-{number}", every="PT1S", misfire=PATIENT)
    world.run(5 * SECOND)
    inner, is_broken = firing.missed_until, True

    def missed_until(entry: Entry, slot: Instant, now: Instant, *, passed: Instant) -> Instant | None:
        if entry.job_key == bad.job_key and is_broken:
            raise KeyError("no such zone")
        return inner(entry, slot, now, passed=passed)

    monkeypatch.setattr(fires, "missed_until", missed_until)
    world.run(2 * MINUTE)
    on_time = [each for each in world.sent if each.job_key != bad.job_key]
    assert len(on_time) >= 20 * 120
    assert max(each.enqueued_at - each.fire_at for each in on_time) <= 0
    # It does not hold the watermark: who takes over finds it with its own instant.
    assert min(watermarks(world)) >= world.now - 5 * SECOND
    # Once a minute, not at each tick.
    assert 1 <= node.counts.set_aside <= 3
    named = [each.entry_id for each in caplog.records if hasattr(each, "entry_id")]
    assert named
    assert all("acme/bad#" in entry_id for entry_id in named)

    is_broken = False
    world.run(2 * MINUTE)
    assert slots_of_job(world, bad.job_key) == set(range(bad.created_at + SECOND, world.now - SECOND, SECOND))


def slots_of_job(world: World, job_key: str) -> set[Instant]:
    return {each.slot for each in world.sent if each.job_key == job_key and each.slot < world.now - SECOND}


def test_a_one_time_job_that_cannot_be_fired_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.start_node("a")
    once(world, 3)
    inner, is_broken = firing.dispatch, True

    def dispatch(entry: Entry, slot: Instant) -> Due:
        if entry.job_key == "acme/once-1" and is_broken:
            raise KeyError("no such zone")
        return inner(entry, slot)

    monkeypatch.setattr(fires, "dispatch", dispatch)
    world.run(MINUTE)
    assert jobs_sent(world) == {"acme/once-0", "acme/once-2"}
    is_broken = False
    world.run(MINUTE)
    assert len(world.sent) == 3
    assert world.entry_ids() == set()


def test_what_the_misfire_policy_cannot_decide_is_tried_again_and_holds_the_watermark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    job = world.create("late", every="PT10M")
    world.create("other", every="PT10M")
    world.clock.advance(HOUR + 5 * MINUTE)
    inner, is_broken = firing.decide, True

    def decide(entry: Entry, first: Instant, last: Instant) -> list[Due]:
        if entry.job_key == job.job_key and is_broken:
            raise KeyError("no such zone")
        return inner(entry, first, last)

    monkeypatch.setattr(fires, "decide", decide)
    node = world.start_node("a")
    world.run(30 * SECOND)
    assert jobs_sent(world) == {"acme/other"}
    assert world.fleet.snapshot().lease(shard_of_job(world, job.job_key)).watermark < job.created_at + 10 * MINUTE
    is_broken = False
    world.run(2 * MINUTE)
    assert jobs_sent(world) == {"acme/other", "acme/late"}
    assert sum(shard.unsettled_count for shard in node.shards.values()) == 0


def shard_of_job(world: World, job_key: str) -> int:
    return next(
        shard
        for shard, entries in world.tables.entries.items()
        if any(entry.job_key == job_key for entry in entries.values())
    )


def test_a_row_that_the_table_does_not_take_keeps_no_other_from_being_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(bears=Exception)
    for number in range(30):
        world.create(f"skips-{number}", misfire=Misfire("skip"), every="PT1H")
    world.clock.advance(HOUR + 2 * MINUTE)
    inner, is_broken = recording.record, True

    def record(runs: RunStore, rows: Sequence[tuple[Due, Run]]) -> list[Run]:
        if is_broken and any(due.entry.job_key == "acme/skips-7" for due, _ in rows):
            raise WriteRefused("runs.record", "ItemCollectionSizeLimitExceeded")
        return inner(runs, rows)

    monkeypatch.setattr(recording, "record", record)
    node = world.start_node("a")
    world.run(20 * SECOND)
    assert len(world.tables.runs) == 29
    named = [each.job_key for each in caplog.records if hasattr(each, "job_key")]
    assert set(named) == {"acme/skips-7"}
    assert len(named) <= 2
    is_broken = False
    world.run(15 * SECOND)
    assert len(world.tables.runs) == 30
    assert len(node.dispatcher.recorder) == 0


def lose_all(node: Node) -> None:
    for number in list(node.shards):
        node.owned.lose(number, None)


def test_rows_that_were_on_their_way_when_their_shard_was_lost_do_not_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    node = world.start_node("a")
    for number in range(3):
        world.create(f"skips-{number}", misfire=Misfire("skip"), every="PT1H")
    world.clock.advance(HOUR + 2 * MINUTE)

    def record(_runs: RunStore, _rows: Sequence[tuple[Due, Run]]) -> list[Run]:
        lose_all(node)
        raise WriteRefused("runs.record", "no")

    monkeypatch.setattr(recording, "record", record)
    for step in (node.beat_once, node.plan_once, node.load_once, node.tick_once):
        step()
    assert len(node.dispatcher.recorder) == 3
    with pytest.raises(WriteRefused):
        node.dispatch_once()
    assert len(node.dispatcher.recorder) == 0


def test_dispatches_that_were_on_their_way_when_their_shard_was_lost_do_not_come_back() -> None:
    world = World()
    once(world, 3)
    world.clock.advance(6 * SECOND)

    class Losing:
        def send(self, _dispatches: list[Dispatch]) -> SendReport:
            lose_all(node)
            return SendReport()

    node = world.start_node("a", queues={**world.queues, "default": Losing()})
    for step in (node.plan_once, node.load_once, node.tick_once):
        step()
    assert node.dispatcher.unsent == 3
    assert node.dispatch_once(hurry=True) == 0
    assert node.dispatcher.unsent == 0


def test_leaving_goes_on_though_one_of_its_steps_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    node = world.start_node("a")
    world.run(5 * SECOND)

    def tidy() -> None:
        raise ValueError("no such answer")

    monkeypatch.setattr(node, "tidy_once", tidy)
    node.drain(until=world.clock.monotonic() + 2)
    assert {lease.owner for lease in world.fleet.snapshot().leases.values()} == {None}
    assert world.fleet.snapshot().nodes == {}
