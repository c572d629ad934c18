"""What a node reads and writes beside entries: one row that fails keeps no other from its turn, and is tried again."""

from __future__ import annotations

from collections.abc import Collection

from functions.scheduler.gauges import Gauges, LoopLag
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.domain.errors import MessageUnreadable
from shared.domain.instants import MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job, JobState
from shared.domain.keys import EntryKey, RunKey
from shared.domain.run import Run
from shared.domain.schedules import Misfire
from tests.unit.scheduler.world import World


class BadRows(MemoryRunStore):
    """Cannot read the rows of one job."""

    bad = ""

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        if any(key.job_key == self.bad for key in keys):
            raise MessageUnreadable("a row of another version", version=2)
        return super().get_many(keys)


def test_a_row_that_the_audit_cannot_read_keeps_no_other_from_being_audited() -> None:
    world = World()
    runs = BadRows(world.tables)
    node = world.start_node("a", runs=runs)
    at = to_rfc3339(Instant(world.now + 10 * SECOND))
    jobs = [world.create(f"once-{number}", at=at) for number in range(10)]
    runs.bad = jobs[0].job_key
    world.purges = lambda dispatch: dispatch.job_key == jobs[5].job_key

    world.run(2 * MINUTE)

    assert node.counts.resent == 1
    assert node.counts.audited >= 9
    assert node.counts.unaudited == 1


class BadJobs(MemoryJobStore):
    """Cannot read some jobs."""

    bad: frozenset[str] = frozenset()

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        if self.bad & set(job_keys):
            raise MessageUnreadable("a job of another version", version=2)
        return super().get_many(job_keys)


def test_a_job_that_cannot_be_ended_holds_up_no_other_and_is_tried_again() -> None:
    world = World()
    store = BadJobs(world.tables)
    node = world.start_node("a", jobs=store)
    skip = Misfire(policy="skip", grace_ms=SECOND)
    until = to_rfc3339(Instant(world.now + 20 * SECOND))
    jobs = [world.create(str(number), skip, every="PT5S", end_at=until) for number in range(12)]
    store.bad = frozenset({jobs[0].job_key})
    world.run(2 * SECOND)
    world.tables.is_firing = False
    world.run(30 * SECOND)
    world.tables.is_firing = True
    world.run(30 * SECOND)

    def ended() -> set[str]:
        return {job.job_key for job in world.tables.jobs.values() if job.state is JobState.COMPLETED}

    assert ended() == {job.job_key for job in jobs[1:]}
    assert Gauges(node, LoopLag(world.clock, 0.01)).take()["set_aside"] == 1
    assert all(lease.watermark >= world.now - 40 * SECOND for lease in world.fleet.snapshot().leases.values())
    store.bad = frozenset()
    world.run(MINUTE)
    assert ended() == {job.job_key for job in jobs}
    assert "set_aside" not in Gauges(node, LoopLag(world.clock, 0.01)).take()


class BadMoves(MemoryEntryStore):
    bad = ""

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        if self.bad in key.entry_id:
            raise ZeroDivisionError
        return super().move(key, next_at)


def test_an_entry_that_cannot_be_moved_keeps_no_other_from_being_moved() -> None:
    world = World()
    entries = BadMoves(world.tables)
    entries.bad = "/1#"
    world.start_node("a", entries=entries)
    for number in range(40):
        world.reschedule(world.create(str(number), every="P1D"))
    world.run(10 * SECOND)

    unmoved = [entry_id for entry_id in world.entry_ids() if not entry_id.startswith("~")]
    assert [entry_id.split("#")[1] for entry_id in unmoved] == ["acme/1"]
