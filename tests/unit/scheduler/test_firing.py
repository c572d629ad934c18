from __future__ import annotations

from dataclasses import replace

from shared.domain.instants import DAY, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.keys import run_id_of
from tests.unit.scheduler.world import TIMING, World, slots_of


def at(instant: int) -> str:
    return to_rfc3339(Instant(instant))


def test_a_one_time_job_is_dispatched_once_a_lead_before_its_instant() -> None:
    world = World()
    world.start_node("a")
    job = world.create("once", at=at(world.now + 10 * SECOND))
    sent = world.run(30 * SECOND)
    assert [(each.run_id, each.slot) for each in sent] == [(run_id_of(job.schedule.instant), job.schedule.instant)]  # type: ignore[union-attr]
    early = sent[0].fire_at - sent[0].enqueued_at
    assert 0 < early <= TIMING.lead_ms


def test_the_entry_of_a_one_time_job_is_deleted_once_it_was_accepted() -> None:
    world = World()
    world.start_node("a")
    world.create("once", at=at(world.now + 5 * SECOND))
    world.run(10 * SECOND)
    assert world.entry_ids() == set()


def test_a_job_created_for_now_is_dispatched_within_a_sweep() -> None:
    world = World()
    world.start_node("a")
    world.run(3 * SECOND)
    created_at = world.now
    world.create("soon", at=at(world.now))
    (sent,) = world.run(3 * SECOND)
    assert sent.enqueued_at - created_at <= 1_500


def test_a_recurring_job_fires_each_slot_once_and_writes_nothing_per_fire() -> None:
    world = World()
    world.start_node("a")
    job = world.create("tick", every="PT2S")
    world.run(5 * SECOND)
    entries_before = dict(world.tables.entries)
    sent = world.run(60 * SECOND)
    assert len(set(slots_of(sent))) == len(sent) == 30
    assert world.tables.entries == entries_before
    assert all((slot - job.created_at) % 2_000 == 0 for slot in slots_of(sent))


def test_a_recurring_entry_is_marked_not_fresh_after_its_first_checkpoint() -> None:
    world = World()
    world.start_node("a")
    world.create("tick", every="PT2S")
    world.run(10 * SECOND)
    assert [entry.fresh for shard in world.tables.entries.values() for entry in shard.values()] == [False]


def test_a_far_slot_moves_next_at_and_leaves_memory() -> None:
    world = World()
    node = world.start_node("a")
    job = world.create("daily", every="P1D", anchor=at(world.now + 5 * SECOND))
    assert len(world.run(20 * SECOND)) == 1
    assert sum(shard.resident_count for shard in node.shards.values()) == 0
    (entry,) = (entry for shard in world.tables.entries.values() for entry in shard.values())
    assert entry.next_at == job.created_at + 5 * SECOND + DAY


def test_a_moved_entry_fires_when_its_time_has_come() -> None:
    world = World()
    world.start_node("a", timing=replace(TIMING, residency_ms=11 * MINUTE))
    world.create("now and then", every="PT20M")
    assert len(world.run(41 * MINUTE)) == 2


def test_a_deleted_job_is_not_dispatched() -> None:
    world = World()
    world.start_node("a")
    job = world.create("once", at=at(world.now + 10 * SECOND))
    world.run(5 * SECOND)
    world.cancel(job)
    assert world.run(20 * SECOND) == []


def test_an_update_to_an_earlier_slot_fires_that_one_only() -> None:
    world = World()
    world.start_node("a")
    start = world.now
    job = world.create("once", at=at(start + 30 * SECOND))
    world.run(3 * SECOND)
    world.reschedule(job, at=at(start + 10 * SECOND))
    assert slots_of(world.run(60 * SECOND)) == [start + 10 * SECOND]


def test_an_update_to_a_later_slot_fires_that_one_only() -> None:
    world = World()
    world.start_node("a")
    start = world.now
    job = world.create("once", at=at(start + 30 * SECOND))
    world.run(3 * SECOND)
    world.reschedule(job, at=at(start + 300 * SECOND))
    assert slots_of(world.run(400 * SECOND)) == [start + 300 * SECOND]


def test_a_paused_job_is_not_dispatched_and_its_tombstone_goes_after_the_margin() -> None:
    world = World()
    world.start_node("a")
    job = world.create("tick", every="PT5S")
    world.run(12 * SECOND)
    world.reschedule(job, state=JobState.PAUSED)
    world.run(2 * SECOND)
    assert world.run(TIMING.margin_ms - 20 * SECOND) == []
    assert len(world.entry_ids()) == 1
    world.run(30 * SECOND)
    assert world.entry_ids() == set()


def test_resume_leaves_no_backlog() -> None:
    world = World()
    world.start_node("a")
    job = world.create("tick", every="PT1M")
    world.run(90 * SECOND)
    paused = world.reschedule(job, state=JobState.PAUSED)
    world.run(30 * MINUTE)
    resumed_at = world.now
    world.reschedule(paused)
    sent = world.run(3 * MINUTE)
    assert len(sent) == 3
    assert all(slot >= resumed_at for slot in slots_of(sent))


def test_a_burst_is_sent_in_full_batches() -> None:
    world = World()
    sizes: list[int] = []

    class Counting:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def send(self, dispatches: list[object]) -> object:
            sizes.append(len(dispatches))
            return self.inner.send(dispatches)  # type: ignore[attr-defined]

    world.start_node("a", queues={lane: Counting(queue) for lane, queue in world.queues.items()})
    due = at(world.now + 5 * SECOND)
    for number in range(200):
        world.create(f"job-{number}", at=due)
    assert len(world.run(10 * SECOND)) == 200
    assert sizes == [10] * 20
