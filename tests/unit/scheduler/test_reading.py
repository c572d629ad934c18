"""Which of the two kinds of place a node reads, and when: an entry that is parked meanwhile is met all the same."""

from __future__ import annotations

from collections.abc import Iterator

from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.tables import MemoryTables
from shared.domain.entry import Entry
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.keys import EntryKey
from tests.unit.scheduler.world import SHARDS, World


class Watched(MemoryEntryStore):
    """Knows what was read, and lets something happen after the first page of announced entries."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables, page_size=1)
        self.reads: list[str] = []
        self.parks: dict[EntryKey, Instant] = {}

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        self.reads.append("announced")
        for page in super().announced(shard, since=since, until=until):
            yield page
            for key in [key for key in self.parks if key.shard == shard]:
                assert self.move(key, self.parks.pop(key))

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        self.reads.append("parked")
        yield from super().parked(shard, since=since, until=until)


def test_an_entry_that_another_node_parks_while_a_load_goes_on_is_met() -> None:
    world = World()
    entries = Watched(world.tables)
    jobs = [world.create(f"job-{number}", every="PT10M") for number in range(3 * SHARDS)]
    for job in jobs:
        # Announced at once, though it fires later: so another node may park it.
        world.reschedule(job)
    first_fire = Instant(world.now + 10 * MINUTE)
    for of_shard in world.tables.entries.values():
        _, *others = sorted(of_shard.values(), key=lambda entry: entry.entry_id)
        entries.parks |= {entry.key: first_fire for entry in others}
    assert entries.parks
    node = world.start_node("a", entries=entries)
    world.run(30 * SECOND)

    assert not entries.parks
    assert sum(shard.resident_count for shard in node.shards.values()) == len(jobs)
    world.run(10 * MINUTE)
    assert {each.job_key for each in world.sent} == {job.job_key for job in jobs}


def test_a_sweep_asks_for_parked_entries_only_where_the_last_load_does_not_reach() -> None:
    world = World()
    entries = Watched(world.tables)
    node = world.start_node("a", entries=entries)
    world.run(10 * SECOND)
    assert "parked" in entries.reads
    entries.reads.clear()

    node.sweep_once()
    assert set(entries.reads) == {"announced"}

    for shard in node.shards.values():
        shard.coverage.without(Instant(world.now + SECOND))
    node.sweep_once()
    assert entries.reads.count("parked") == len(node.shards)
