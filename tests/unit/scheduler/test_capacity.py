"""The memory of a node is bounded: what does not fit waits in the table, and nothing is lost or late for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from functions.scheduler.capacity import residency_at
from functions.scheduler.due import Due
from functions.scheduler.node import Node
from functions.scheduler.room import Room
from functions.scheduler.shard import Shard
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.domain.entry import Entry, entry_of
from shared.domain.errors import StoreThrottled
from shared.domain.fleet import Lease
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.schedules import Misfire, fire_at, slots
from shared.domain.sharding import shard_of
from tests.unit.scheduler.world import SHARDS, TIMING, World

MOST = 40
PATIENT = Misfire("fire_all", grace_ms=None)


def at(instant: int) -> str:
    return to_rfc3339(Instant(instant))


def crowded(*, jobs: int = 150) -> World:
    """Many more jobs than fit: one-time ones over ten minutes, and recurring ones of many periods."""
    world = World()
    world.entries = MemoryEntryStore(world.tables, page_size=10)
    for number in range(jobs):
        world.create(f"once-{number}", at=at(world.now + 5 * SECOND + number * 10 * MINUTE // jobs))
    for number, period in enumerate(["PT20S", "PT1M", "PT4M", "PT7M", "PT12M"] * 10):
        world.create(f"tick-{number}", every=period, misfire=PATIENT)
    return world


def start(world: World, node_id: str, most: int = MOST) -> Node:
    return world.start_node(node_id, settings={"most_residents": most})


def planned(world: World, until: Instant) -> Counter[tuple[str, Instant]]:
    """Every slot that fires by then."""
    found: Counter[tuple[str, Instant]] = Counter()
    for job in world.tables.jobs.values():
        for slot in slots(job.schedule, Instant(job.from_at - 1)):
            if fire_at(job.schedule, job.job_key, slot) > until:
                break
            found[job.job_key, slot] += 1
    return found


def sent_slots(world: World) -> set[tuple[str, Instant]]:
    return {(each.job_key, each.slot) for each in world.sent}


def assert_watermarks_are_true(world: World) -> None:
    """No watermark has passed a slot that was not sent."""
    snapshot, sent = world.fleet.snapshot(), sent_slots(world)
    highest = max(lease.watermark for lease in snapshot.leases.values())
    passed = [
        (key, slot)
        for key, slot in planned(world, highest)
        if slot <= snapshot.lease(shard_of(key, SHARDS)).watermark and (key, slot) not in sent
    ]
    assert passed == []


@pytest.mark.parametrize(
    ("held", "residency_ms"),
    [(0, TIMING.residency_ms), (50, TIMING.residency_ms), (100, TIMING.shortest_residency_ms), (500, 3 * MINUTE)],
)
def test_the_residency_shrinks_from_half_of_the_cap_on(held: int, residency_ms: int) -> None:
    assert residency_at(TIMING, held=held, most=100) == residency_ms


def test_the_residency_shrinks_by_equal_ratios() -> None:
    residencies = [residency_at(TIMING, held=held, most=100) for held in range(50, 101, 10)]
    ratios = [round(later / earlier, 3) for earlier, later in pairwise(residencies)]
    assert len(set(ratios)) == 1
    assert ratios[0] < 0.5


def test_a_crowd_that_does_not_fit_fires_every_slot_on_time() -> None:
    world = crowded()
    node = start(world, "a")
    most_held = 0
    for _ in range(60):
        world.run(15 * SECOND)
        most_held = max(most_held, node.owned.held_count)
        assert_watermarks_are_true(world)

    assert planned(world, Instant(world.now - SECOND)).keys() <= sent_slots(world)
    assert len(sent_slots(world)) == len(world.sent)
    assert max(each.enqueued_at - each.fire_at for each in world.sent) <= 0
    # A page more than the cap, and what comes due within the next sweeps.
    assert most_held <= MOST + 10 * SHARDS + 20


def test_memory_never_holds_them_all_where_they_would_fit_otherwise() -> None:
    world = crowded()
    roomy = start(world, "a", most=10_000)
    world.run(20 * SECOND)
    assert roomy.owned.held_count > 4 * MOST


def test_a_crowd_that_does_not_fit_survives_the_death_of_its_owner() -> None:
    world = crowded()
    first = start(world, "a")
    world.run(3 * MINUTE)
    world.kill(first)
    start(world, "b")
    for _ in range(20):
        world.run(15 * SECOND)
        assert_watermarks_are_true(world)

    assert planned(world, Instant(world.now - SECOND)).keys() <= sent_slots(world)
    assert max(each.enqueued_at - each.fire_at for each in world.sent) <= 8 * SECOND


class Failing(MemoryEntryStore):
    """Answers no read while `fails`."""

    fails = False

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        if self.fails:
            raise StoreThrottled("entries.announced", "too much")
        return super().announced(shard, since=since, until=until)


def run_without_reads(world: World, node: Node, duration_ms: int) -> None:
    """Everything but loads, sweeps, moves and deletes succeeds."""
    end = world.now + duration_ms
    while world.now < end:
        if world.now % 1_000 < 50:
            node.beat_once()
            node.plan_once()
        if world.now % 2_000 < 50:
            node.checkpoint_once()
        node.tick_once()
        node.dispatch_once()
        world.collect()
        world.clock.advance(50)


def test_a_watermark_does_not_pass_an_entry_that_went_back_to_the_table() -> None:
    world = crowded()
    entries = Failing(world.tables, page_size=10)
    node = world.start_node("a", settings={"most_residents": MOST}, entries=entries)
    world.run(90 * SECOND)
    entries.fails = True
    run_without_reads(world, node, 10 * MINUTE)
    assert_watermarks_are_true(world)
    assert not planned(world, Instant(world.now - SECOND)).keys() <= sent_slots(world)

    entries.fails = False
    world.run(60 * SECOND)
    assert planned(world, Instant(world.now - SECOND)).keys() <= sent_slots(world)


def test_a_watermark_does_not_pass_the_instant_at_which_a_load_was_cut() -> None:
    """There may be more of that instant on the page that was not read."""
    world = World()
    entries = Failing(world.tables, page_size=7)
    world.create("often", every="PT1S", misfire=PATIENT)
    for number in range(100):
        world.create(f"once-{number}", at=at(world.now + MINUTE))
    node = world.start_node("a", settings={"most_residents": 10}, entries=entries)
    world.run(2 * SECOND)
    entries.fails = True
    run_without_reads(world, node, 2 * MINUTE)
    assert_watermarks_are_true(world)

    entries.fails = False
    world.run(10 * SECOND)
    assert len(sent_slots(world)) == 100 + len({each.slot for each in world.sent if each.job_key == "acme/often"})


def test_watermarks_follow_the_sweeps_when_loads_are_cut() -> None:
    world = crowded()
    start(world, "a")
    world.run(5 * MINUTE)
    assert min(lease.watermark for lease in world.fleet.snapshot().leases.values()) >= world.now - 30 * SECOND


def shard_with(job: Job) -> Shard:
    """A shard that was loaded when there was room, and from then on keeps entries for three minutes."""
    shard = Shard(Lease(0, "a", 1), TIMING, job.from_at)
    reading = shard.begin_read(job.from_at)
    shard.absorb(entry_of(job, shard_count=1), job.from_at, reading)
    shard.end_load(reading, until=Instant(job.from_at + 20 * MINUTE))
    shard.residency_ms = 3 * MINUTE
    return shard


def parked(job: Job, at: Instant) -> Entry:
    entry = entry_of(job, shard_count=1)
    return replace(entry, entry_id=entry.key.parked.entry_id, next_at=at, fresh=True)


def fire_all(shard: Shard, now: Instant) -> list[Due]:
    dues = shard.expire(now, Room(100))
    for due in dues:
        shard.settle(due)
    return dues


def test_an_entry_on_its_way_back_to_the_table_holds_the_watermark() -> None:
    job = World().create("tick", every="PT5M")
    shard = shard_with(job)
    first = Instant(job.from_at + 5 * MINUTE)
    assert [due.slot for due in fire_all(shard, first)] == [first]
    assert shard.to_move == {entry_of(job, shard_count=1).entry_id: first + 5 * MINUTE}

    shard.expire(Instant(first + 6 * MINUTE), Room(100))
    assert shard.safe_watermark() == first + 5 * MINUTE - 1


def test_a_read_while_the_move_is_not_done_does_not_free_it() -> None:
    job = World().create("tick", every="PT5M")
    shard = shard_with(job)
    first = Instant(job.from_at + 5 * MINUTE)
    fire_all(shard, first)
    reading = shard.begin_read(first)
    shard.absorb(entry_of(job, shard_count=1), first, reading)
    shard.end_load(reading, until=Instant(first + 20 * MINUTE))

    shard.expire(Instant(first + 6 * MINUTE), Room(100))
    assert shard.safe_watermark() == first + 5 * MINUTE - 1


def test_a_read_that_goes_on_while_it_leaves_does_not_free_it() -> None:
    job = World().create("tick", every="PT5M")
    shard = shard_with(job)
    first = Instant(job.from_at + 5 * MINUTE)
    reading = shard.begin_read(first)
    fire_all(shard, first)
    shard.end_load(reading, until=Instant(first + 20 * MINUTE))

    shard.expire(Instant(first + 6 * MINUTE), Room(100))
    assert shard.safe_watermark() == first + 5 * MINUTE - 1


def test_a_read_after_the_move_frees_it() -> None:
    job = World().create("tick", every="PT5M")
    shard = shard_with(job)
    first = Instant(job.from_at + 5 * MINUTE)
    fire_all(shard, first)
    shard.tidied([], dict(shard.to_move), [])
    reading = shard.begin_read(first)
    shard.absorb(parked(job, Instant(first + 5 * MINUTE)), first, reading)
    shard.end_load(reading, until=Instant(first + 3 * MINUTE))
    assert shard.resident_count == 0

    now = Instant(first + 5 * MINUTE - SECOND)
    reading = shard.begin_read(now)
    shard.absorb(parked(job, Instant(first + 5 * MINUTE)), now, reading)
    shard.end_sweep(reading, since=Instant(first), until=Instant(now + 2 * SECOND))
    assert [due.slot for due in fire_all(shard, Instant(first + 5 * MINUTE))] == [first + 5 * MINUTE]
    assert shard.safe_watermark() == first + 5 * MINUTE + TIMING.lead_ms


def test_more_late_entries_than_fit_are_worked_off() -> None:
    world = World()
    world.entries = MemoryEntryStore(world.tables, page_size=10)
    for number in range(200):
        world.create(f"once-{number}", at=at(world.now + number * SECOND))
    world.clock.advance(HOUR)
    start(world, "a", most=10)
    for _ in range(30):
        world.run(10 * SECOND)
        assert_watermarks_are_true(world)
    assert len(sent_slots(world)) == 200


def test_the_cap_is_shared_by_all_shards_of_a_node() -> None:
    world = crowded()
    timing = replace(TIMING, load_ms=30 * SECOND)
    node = world.start_node("a", timing=timing, settings={"most_residents": MOST})
    world.run(2 * MINUTE)
    assert sum(shard.held_count for shard in node.shards.values()) <= MOST + 10 * SHARDS + 20
    assert all(shard.held_count for shard in node.shards.values())
