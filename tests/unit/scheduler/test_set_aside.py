"""An entry that a node cannot use stops nothing else and loses nothing: whoever can use it goes on where it was."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from functions.scheduler.gauges import Gauges, LoopLag
from functions.scheduler.node import Node
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.tables import MemoryTables
from shared.domain.entry import Entry
from shared.domain.errors import MessageUnreadable
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import EntryKey
from shared.domain.schedules import Cron, Misfire
from shared.domain.sharding import shard_of
from shared.ports import StoredEntry
from tests.later_release import OfALaterRelease
from tests.unit.scheduler.world import SHARDS, World, slots_of


class OldRelease(MemoryEntryStore):
    """Cannot read the entries of some jobs."""

    def __init__(self, tables: MemoryTables, *unreadable: Job) -> None:
        super().__init__(tables)
        self.unreadable = {job.job_key for job in unreadable}

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Any:
        return self._hidden(super().announced(shard, since=since, until=until))

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Any:
        return self._hidden(super().parked(shard, since=since, until=until))

    def _hidden(self, pages: Iterator[list[Entry]]) -> Iterator[Sequence[StoredEntry]]:
        for page in pages:
            yield [OfALaterRelease(each) if each.job_key in self.unreadable else each for each in page]


def aside(node: Node) -> int:
    return sum(len(shard.unreadable) for shard in node.shards.values())


def fired(world: World, job: Job) -> list[Instant]:
    return slots_of([each for each in world.sent if each.job_key == job.job_key])


def in_an_unknown_zone(world: World, job: Job) -> None:
    """As an API leaves it whose time zones are newer."""
    for of_shard in world.tables.entries.values():
        for entry_id, entry in of_shard.items():
            if entry.job_key == job.job_key:
                assert isinstance(entry.schedule, Cron)
                of_shard[entry_id] = replace(entry, schedule=replace(entry.schedule, timezone="America/Newtown"))


def test_a_zone_that_the_node_lacks_stops_no_other_job(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    bad = world.create("new-zone", cron="*/5 * * * * *", seconds=True, timezone="Europe/Berlin")
    in_an_unknown_zone(world, bad)
    others = [world.create(str(number), every="PT5S") for number in range(40)]
    node = world.start_node("a")

    world.run(MINUTE)

    assert {job.job_key for job in others} == {each.job_key for each in world.sent}
    assert all(len(fired(world, job)) >= 11 for job in others)
    assert aside(node) == 1
    assert Gauges(node, LoopLag(world.clock, 0.01)).take()["set_aside"] == 1
    [line] = [vars(line) for line in caplog.records if vars(line).get("action") == "entry.set_aside"]
    assert (line["levelname"], line["shard"]) == ("ERROR", shard_of(bad.job_key, SHARDS))
    assert bad.job_key in line["entry_id"]
    assert "America/Newtown" in line["error"]


def test_what_a_node_cannot_read_is_owed_until_one_can() -> None:
    """W is the only memory of an entry that has fired: it may pass only what the table itself remembers since."""
    world = World()
    job = world.create("later", Misfire(policy="fire_all", limit=1_000), every="PT5S")
    other = world.create(next(name for name in map(str, range(99)) if same_shard(name, job)), every="PT1S")
    able = world.start_node("able")
    world.run(30 * SECOND)
    world.kill(able)
    old = world.start_node("old", entries=OldRelease(world.tables, job))
    world.run(10 * MINUTE)
    assert aside(old) == 1
    lease = world.fleet.snapshot().lease(shard_of(job.job_key, SHARDS))
    assert lease.watermark >= world.now - 10 * SECOND, "one entry holds up the watermark of no other"
    world.kill(old)
    world.start_node("able-too")
    world.run(2 * MINUTE)

    slots = fired(world, job)
    assert sorted(set(slots)) == [
        Instant(job.from_at + 5 * SECOND * number) for number in range(1, len(set(slots)) + 1)
    ]
    assert max(slots) >= world.now - 6 * SECOND
    assert not set(fired(world, other)) & {run.slot for run in world.tables.runs.values() if run.gap is not None}


def same_shard(name: str, job: Job) -> bool:
    return shard_of(f"acme/{name}", SHARDS) == shard_of(job.job_key, SHARDS)


def test_a_single_fire_that_cannot_be_read_stays_where_it_is() -> None:
    world = World()
    job = world.create("once", at=to_rfc3339(Instant(world.now + 20 * SECOND)))
    ids = world.entry_ids()
    world.start_node("old", entries=OldRelease(world.tables, job))
    world.run(2 * MINUTE)
    assert world.entry_ids() == ids
    world.kill(world.nodes[0])
    world.start_node("able")
    world.run(20 * SECOND)

    assert len(fired(world, job)) == 1


def test_what_was_set_aside_is_looked_at_again() -> None:
    world = World()
    job = world.create("later", every="PT5S")
    entries = OldRelease(world.tables, job)
    node = world.start_node("a", entries=entries)
    world.run(30 * SECOND)
    assert (aside(node), fired(world, job)) == (1, [])
    entries.unreadable.clear()

    world.run(6 * MINUTE)

    assert aside(node) == 0
    assert max(fired(world, job)) >= world.now - 6 * SECOND


def test_a_job_that_is_changed_to_what_cannot_be_read_does_not_go_on_as_it_was() -> None:
    world = World()
    job = world.create("changed", every="PT5S")
    entries = OldRelease(world.tables)
    node = world.start_node("a", entries=entries)
    world.run(20 * SECOND)
    entries.unreadable.add(job.job_key)
    world.reschedule(job, every="PT1S")
    before = world.now
    world.run(MINUTE)

    assert max(fired(world, job)) <= before + 2 * SECOND
    assert aside(node) == 1


def test_an_entry_that_is_gone_is_not_set_aside_any_more() -> None:
    world = World()
    job = world.create("later", every="PT5S")
    node = world.start_node("a", entries=OldRelease(world.tables, job))
    world.run(30 * SECOND)
    assert aside(node) == 1
    world.entries.delete([entry.key for of_shard in world.tables.entries.values() for entry in of_shard.values()])

    world.run(6 * MINUTE)

    assert aside(node) == 0


class BreaksIn(MemoryEntryStore):
    """Raises what no port may raise, for one shard."""

    def __init__(self, tables: MemoryTables, shard: int) -> None:
        super().__init__(tables)
        self.shard = shard
        self.calls = 0

    def _break(self, shard: int) -> None:
        if shard == self.shard:
            self.calls += 1
            raise ZeroDivisionError

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        if since:
            self._break(shard)
        return super().announced(shard, since=since, until=until)

    def delete(self, keys: Collection[EntryKey]) -> None:
        for key in keys:
            self._break(key.shard)
        super().delete(keys)

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        for key in keys:
            self._break(key.shard)
        super().clear_fresh(keys)


@pytest.mark.parametrize("broken", range(SHARDS))
def test_a_fault_of_any_kind_in_one_shard_hurts_no_other(broken: int) -> None:
    world = World()
    entries = BreaksIn(world.tables, broken)
    node = world.start_node("a", entries=entries)
    world.run(5 * SECOND)
    jobs = [world.create(str(number), every="PT5S") for number in range(12)]
    jobs += [world.create(f"once-{number}", at=to_rfc3339(Instant(world.now + SECOND))) for number in range(12)]

    world.run(2 * MINUTE)

    well = [job for job in jobs if shard_of(job.job_key, SHARDS) != broken]
    assert all(fired(world, job) for job in well)
    assert {shard for shard, of_shard in world.tables.entries.items() if any("once-" in each for each in of_shard)} <= {
        broken
    }
    assert all(
        lease.watermark >= world.now - 10 * SECOND
        for lease in world.fleet.snapshot().leases.values()
        if lease.shard != broken and lease.watermark
    )
    # It is tried again, later each time.
    assert 5 <= node.owned.setbacks.count <= 60
    assert Gauges(node, LoopLag(world.clock, 0.01)).take()["step_failures"] == node.owned.setbacks.count


def test_a_lease_that_cannot_be_taken_keeps_no_other_from_being_taken() -> None:
    world = World()
    take = world.fleet.take

    def hot(seen: Any, *, owner: str) -> Any:
        if seen.shard == 0:
            raise MessageUnreadable("a lease of another version", version=2)
        return take(seen, owner=owner)

    world.fleet.take = hot  # type: ignore[method-assign]
    node = world.start_node("a")
    world.run(3 * SECOND)

    assert set(node.shards) == set(range(1, SHARDS))
