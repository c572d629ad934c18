"""Which of the two kinds of place a node reads, and when: an entry that is parked meanwhile is met all the same."""

from __future__ import annotations

from collections.abc import Iterator

from functions.scheduler.audit_rules import AuditRules
from functions.scheduler.keeping import MOVES_AT_ONCE
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.tables import MemoryTables
from shared.domain.entry import Entry
from shared.domain.errors import StoreThrottled
from shared.domain.instants import DAY, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import EntryKey
from shared.domain.sharding import shard_of
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


def stored_entry(world: World, job: Job) -> Entry:
    [entry] = [
        entry for shard in world.tables.entries.values() for entry in shard.values() if entry.job_key == job.job_key
    ]
    return entry


def slots_sent(world: World, job: Job) -> list[Instant]:
    return [each.slot for each in world.sent if (each.job_key, each.generation) == (job.job_key, job.generation)]


def test_what_goes_back_to_the_table_right_before_a_load_is_read_by_it() -> None:
    """The load left it aside as what had just left memory, and said that it had read so far: a slot was passed."""
    world = World()
    world.clock.advance(1_000 - world.now % 1_000)
    fires_at = Instant(world.now + 300 * SECOND - 200)
    job = world.create("often", every="PT4M50S", anchor=to_rfc3339(fires_at))
    job = world.reschedule(job)
    # By an earlier owner: it lies under the id that it will have again.
    assert world.entries.move(stored_entry(world, job).key, fires_at)
    for number in range(20):
        world.create(f"once-{number}", at=to_rfc3339(fires_at))
    shard = shard_of(job.job_key, SHARDS)
    world.create(next(name for name in map(str, range(99)) if shard_of(f"acme/{name}", SHARDS) == shard), every="PT10S")
    node = world.start_node("a", settings={"most_residents": 23, "audit": AuditRules(every_ms=DAY, rows_per_minute=0)})
    world.run(5 * MINUTE + 400)
    assert node.shards[shard].coverage.loaded_at == fires_at + 200, "a load came right after its fire"

    world.run(20 * MINUTE)

    assert slots_sent(world, job) == [fires_at + 290 * SECOND * number for number in range(5)]
    assert all(each.enqueued_at < each.fire_at for each in world.sent)


def test_what_another_node_parks_within_the_reach_of_the_last_load_is_never_passed() -> None:
    """A full node parks a job that was just changed, in the second in which another one takes the shard."""
    world = World()
    world.clock.advance(1_000 - world.now % 1_000)
    first_of: dict[int, Job] = {}
    for number in range(60):
        shard = shard_of(f"acme/{number}", SHARDS)
        job = world.create(str(number), every="PT10S" if shard in first_of else "PT1H")
        first_of.setdefault(shard, job)
    no_audit = {"audit": AuditRules(every_ms=DAY, rows_per_minute=0)}
    full = world.start_node("full", settings={"most_residents": 56, **no_audit})
    world.run(20 * SECOND)
    taker = world.start_node("taker", settings=no_audit)
    while not taker.shards:
        world.run(50)
    [shard] = set(full.shards) & set(taker.shards)
    job = world.reschedule(first_of[shard], every="PT4M")
    full.sweep_once()
    full.tidy_once()
    assert stored_entry(world, job).key.is_parked

    world.run(14 * MINUTE)

    assert slots_sent(world, job) == [job.from_at + 4 * MINUTE * number for number in (1, 2, 3)]


def test_a_shard_that_cannot_be_read_keeps_no_other_from_being_loaded() -> None:
    world = World()
    jobs = [world.create(str(number), every="PT10S") for number in range(20)]

    class OneIsHot(MemoryEntryStore):
        def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
            if shard == 0:
                raise StoreThrottled("entries.read", "a hot partition")
            return super().announced(shard, since=since, until=until)

    node = world.start_node("a", entries=OneIsHot(world.tables))
    world.run(20 * SECOND)

    loaded = {number for number, shard in node.shards.items() if shard.coverage.loaded_at is not None}
    assert loaded == set(range(1, SHARDS))
    assert {each.job_key for each in world.sent} == {job.job_key for job in jobs if shard_of(job.job_key, SHARDS) != 0}


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


def test_one_turn_parks_so_many_at_most_whatever_the_number_of_shards() -> None:
    world = World()
    for number in range(3 * MOVES_AT_ONCE):
        world.reschedule(world.create(str(number), every="P1D"))
    node = world.start_node("a")
    node.plan_once()
    node.load_once()
    node.sweep_once()

    def parked() -> int:
        return sum(entry.key.is_parked for of_shard in world.tables.entries.values() for entry in of_shard.values())

    node.tidy_once()
    assert 0 < parked() <= MOVES_AT_ONCE

    world.run(5 * SECOND)
    assert parked() == 3 * MOVES_AT_ONCE


def test_a_dispatch_names_the_entry_of_its_job_wherever_it_lies() -> None:
    world = World()
    announced, parked = world.create("announced", every="PT1S"), world.create("parked", every="PT1S")
    key = stored_entry(world, parked).key
    assert world.entries.move(key, Instant(stored_entry(world, parked).next_at + SECOND))
    named = {job.job_key: stored_entry(world, job).entry_id for job in (announced, parked)}
    world.start_node("a")

    world.run(5 * SECOND)

    assert {(each.job_key, each.entry_id) for each in world.sent} == set(named.items())
    assert named[parked.job_key] == key.parked.entry_id
