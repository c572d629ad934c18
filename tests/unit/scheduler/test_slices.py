"""Loads and sweeps go on in slices, so that what else their thread has to do goes on, and hold the lock for moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

import pytest

from functions.scheduler.node import Node
from functions.scheduler.reading import AT_ONCE
from functions.scheduler.room import Room
from functions.scheduler.runner import Step
from functions.scheduler.shard import Shard
from shared.adapters.memory.clock import ManualClock, SeededRandomness
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.domain.entry import Entry
from shared.domain.fleet import Lease
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.schedules import Every
from shared.domain.sharding import shard_of
from shared.ports import StoredEntry
from tests.unit.scheduler.world import SHARDS, TIMING, World

#: What a page takes: more than a slice, so that each slice reads one.
PAGE_MS = 30


@dataclass(frozen=True)
class Counted:
    """Tells each time it is decoded."""

    entry: Entry
    decoded: list[str]

    @property
    def entry_id(self) -> str:
        return self.entry.entry_id

    @property
    def next_at(self) -> Instant:
        return self.entry.next_at

    @property
    def is_spoken_for(self) -> bool:
        return self.entry.is_spoken_for

    def read(self) -> Entry:
        self.decoded.append(self.entry_id)
        return self.entry


class Slow(MemoryEntryStore):
    def __init__(self, world: World, *, page_size: int = 5, page_ms: int = PAGE_MS) -> None:
        super().__init__(world.tables, page_size=page_size)
        self.clock, self.page_ms = world.clock, page_ms
        #: Shards in the order of their pages, and what was decoded.
        self.read: list[int] = []
        self.decoded: list[str] = []

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Any:
        return self._slowly(shard, super().announced(shard, since=since, until=until))

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Any:
        return self._slowly(shard, super().parked(shard, since=since, until=until))

    def _slowly(self, shard: int, pages: Iterator[list[Entry]]) -> Iterator[Sequence[StoredEntry]]:
        for page in pages:
            self.clock.advance(self.page_ms)
            self.read.append(shard)
            yield [Counted(each, self.decoded) for each in page]


def loaded(node: Node) -> set[int]:
    return {number for number, shard in node.shards.items() if shard.coverage.loaded_at is not None}


def test_a_slice_of_a_load_is_short_and_the_rest_comes_in_the_next_ones() -> None:
    world = World()
    for number in range(100):
        world.create(str(number), every="PT5M")
    entries = Slow(world)
    node = world.start_node("a", entries=entries)
    node.plan_once()
    slices = 1
    while node.load_once():
        assert len(entries.read) == slices, "a page is longer than a slice"
        slices += 1

    assert loaded(node) == set(range(SHARDS))
    assert sum(shard.resident_count for shard in node.shards.values()) == 100
    assert slices > 100 / 5


def turn(world: World, node: Node) -> bool:
    """Of all loops; whether there is more to load."""
    node.beat_once()
    node.plan_once()
    has_more = node.load_once()
    for step in (node.sweep_once, node.tidy_once, node.checkpoint_once, node.tick_once):
        step()
    node.dispatch_once(hurry=True)
    world.collect()
    return has_more


def test_planning_sweeping_and_checkpoints_go_on_while_shards_are_loaded() -> None:
    world = World()
    for number in range(20):
        world.create(str(number), every="PT1S")
    node = world.start_node("a", entries=Slow(world, page_size=1, page_ms=500))
    while not loaded(node):
        turn(world, node)
    [first] = loaded(node)
    name = next(name for name in map(str, range(99, 999)) if shard_of(f"acme/{name}", SHARDS) == first)
    created, created_at = world.create(name, at=to_rfc3339(Instant(world.now + SECOND))), world.now
    while turn(world, node):
        pass

    assert world.now - created_at > 5 * SECOND
    assert created.job_key in {each.job_key for each in world.sent}
    assert world.fleet.snapshot().lease(first).watermark > created_at + SECOND


def test_a_shard_that_was_just_taken_is_loaded_before_those_that_are_loaded_again() -> None:
    world = World()
    for number in range(40):
        world.create(str(number), every="PT5M")
    entries = Slow(world)
    node = world.start_node("a", entries=entries)
    while turn(world, node) or not node.shards:
        pass
    assert loaded(node) == set(range(SHARDS))
    stored = world.tables.leases[SHARDS - 1]
    world.tables.leases[SHARDS - 1] = replace(stored, owner=None)
    world.clock.advance(TIMING.load_ms)
    node.beat_once()
    node.load_once()
    node.plan_once()
    node.plan_once()
    entries.read.clear()
    while node.load_once():
        pass

    order = list(dict.fromkeys(entries.read))
    assert order[:2] == [order[0], SHARDS - 1], "what is being loaded goes on, and then what nobody fires"


def test_a_sweep_decodes_only_what_is_new() -> None:
    world = World()
    entries = Slow(world, page_size=500, page_ms=0)
    node = world.start_node("a", entries=entries)
    world.run(2 * SECOND)
    for number in range(20):
        world.create(f"every-{number}", every="PT1S")
        world.create(f"once-{number}", at=to_rfc3339(Instant(world.now + MINUTE * (number % 2))))
    gone = world.create("gone", every="PT1S")
    world.cancel(gone)
    world.run(5 * SECOND)
    entries.decoded.clear()

    node.sweep_once()
    assert entries.decoded == []

    world.create("new", every="PT1S")
    node.sweep_once()
    node.sweep_once()
    assert [each.split("#")[1] for each in entries.decoded] == ["acme/new"]


def test_few_entries_are_taken_in_before_the_lock_is_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for number in range(SHARDS * 3 * AT_ONCE):
        world.create(str(number), every="PT5M")
    node = world.start_node("a")
    node.plan_once()
    taken: list[int] = []

    class Lock:
        """Counts what is absorbed each time it is held."""

        def __init__(self) -> None:
            self.lock = RLock()

        def __enter__(self) -> None:
            self.lock.acquire()
            taken.append(0)

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    absorb = Shard.absorb

    def counted(shard: Shard, *given: Any) -> None:
        taken[-1] += 1
        absorb(shard, *given)

    monkeypatch.setattr(Shard, "absorb", counted)
    node.owned.lock = Lock()  # type: ignore[assignment]
    node.load_once()

    assert sum(taken) == SHARDS * 3 * AT_ONCE
    assert max(taken) == AT_ONCE


def test_a_step_that_has_more_to_do_is_due_again_at_once() -> None:
    clock, dice, turns = ManualClock(), SeededRandomness(), [True, True, False]
    step = Step("load", lambda: turns.pop(0), 60.0, is_sliced=True)

    assert [step.run_if_due(clock, dice) for _ in range(4)] == [True, True, False, False]
    assert turns == []


def recurring(next_at: int, *, parked: bool = False) -> Entry:
    at = Instant(next_at)
    every = Every(interval_ms=5 * MINUTE, anchor=at)
    entry = Entry(0, f"{at:016d}#acme/tick#1", "acme/tick", 1, at, at, schedule=every, fresh=True)
    return replace(entry, entry_id=entry.key.parked.entry_id) if parked else entry


def test_of_two_reads_at_once_only_the_one_that_began_after_a_move_speaks_for_its_place() -> None:
    now = Instant(1_795_737_600_000)
    shard = Shard(Lease(0, "a", 1), TIMING, now)
    shard.end_load(shard.begin_read(now), until=Instant(now + 20 * MINUTE))
    shard.residency_ms = 3 * MINUTE
    shard.absorb(recurring(now, parked=True), now)
    long_load = shard.begin_read(now)
    [due] = shard.expire(now, Room(10))
    shard.settle(due)
    back_at = Instant(now + 5 * MINUTE)
    assert list(shard.to_move.values()) == [back_at]
    shard.tidied([], dict(shard.to_move), [])
    sweep = shard.begin_read(Instant(back_at - SECOND))
    again = replace(recurring(now, parked=True), next_at=back_at)
    assert shard.knows(again.entry_id, long_load), "it may have read the row as it was"
    assert not shard.knows(again.entry_id, sweep)

    shard.end_load(long_load, until=Instant(now + 20 * MINUTE))
    assert shard.coverage.until == back_at - 1
    shard.absorb(again, Instant(back_at - SECOND), sweep)
    shard.end_sweep(sweep, since=Instant(now - MINUTE), until=Instant(back_at + SECOND))
    assert shard.coverage.until == back_at + SECOND
    assert [each.slot for each in shard.expire(back_at, Room(10))] == [back_at]
