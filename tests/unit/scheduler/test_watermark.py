"""What the simulation found about the watermark; each test names its seed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from functions.scheduler.room import Room
from functions.scheduler.shard import Shard
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.domain.entry import Entry, entry_keys
from shared.domain.fleet import Lease
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.keys import EntryKey, RunKey, announced_id, run_id_of, schedule_name
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules import At, Every
from tests.unit.scheduler.world import SHARDS, TIMING, World

NOW = Instant(1_000 * MINUTE)


def fresh_entry(name: str, next_at: int, interval_ms: int) -> Entry:
    """A recurring entry that fires at `next_at` and then every interval."""
    every = Every(interval_ms=interval_ms, anchor=Instant(next_at))
    entry_id = announced_id(next_at, schedule_name(name, 1))
    return Entry(0, entry_id, name, 1, Instant(next_at), Instant(next_at), schedule=every, fresh=True)


def shard_that_fired(entry: Entry, until: Instant) -> Shard:
    """Loaded, and everything of the entry until then is settled."""
    shard = Shard(Lease(0, "a", 1), TIMING, NOW)
    shard.end_load(shard.begin_read(NOW), until=Instant(NOW + TIMING.horizon_ms))
    shard.absorb(entry, NOW)
    for due in shard.expire(until, Room(1_000)):
        shard.settle(due)
    return shard


def test_a_watermark_whose_answer_was_lost_does_not_speak_for_an_entry_met_since() -> None:
    """Seed 1141: a lower checkpoint seemed durable, `fresh` was cleared, though W had passed an unsent slot."""
    until = Instant(NOW + 10 * SECOND)
    shard = shard_that_fired(fresh_entry("tick", NOW, SECOND), until)
    first = shard.safe_watermark()
    assert first is not None
    shard.ask(first)
    shard.absorb(fresh_entry("late", first - 3 * SECOND, 5 * MINUTE), until)
    [late] = shard.expire(until, Room(1_000))
    assert shard.safe_watermark() is None, "nothing lower than what may be stored is asked for"
    shard.settle(late)
    [next_tick] = shard.expire(Instant(until + SECOND), Room(1_000))
    shard.settle(next_tick)
    later = shard.safe_watermark()
    assert later is not None
    assert later > first


def test_an_entry_that_is_read_when_the_wheel_was_drained_past_its_slot_holds_the_watermark_until_it_is_popped() -> (
    None
):
    """Seed 139: a tick came between two pages of a load, and the checkpoint before the next one."""
    until = Instant(NOW + 10 * SECOND)
    shard = shard_that_fired(fresh_entry("tick", NOW, SECOND), until)
    late = replace(fresh_entry("late", NOW + 3 * SECOND, 5 * MINUTE), fresh=False)
    shard.absorb(late, until)
    watermark = shard.safe_watermark()
    assert watermark == late.next_at - 1
    [due] = shard.expire(until, Room(1_000))
    assert shard.safe_watermark() == watermark, "in flight"
    shard.settle(due)
    passed = shard.safe_watermark()
    assert passed is not None
    assert passed >= until


def test_an_entry_fired_while_the_checkpoint_was_on_its_way_stays_fresh_until_it_is_settled() -> None:
    until = Instant(NOW + 10 * SECOND)
    tick = fresh_entry("tick", NOW, SECOND)
    shard = shard_that_fired(tick, until)
    watermark = shard.safe_watermark()
    assert watermark is not None
    lease = shard.ask(watermark)
    shard.absorb(fresh_entry("late", watermark - 3 * SECOND, 5 * MINUTE), until)
    [late] = shard.expire(until, Room(1_000))
    assert shard.checkpointed(lease) == [tick.key]
    shard.settle(late)
    assert late.entry.key in shard.checkpointed(replace(lease, watermark=Instant(watermark + 1)))


def test_no_watermark_before_the_table_was_read_since_the_take() -> None:
    """What only the last owner met may be marked not fresh by a late call of his; then W alone would speak for it."""
    until = Instant(NOW + 10 * SECOND)
    shard = shard_that_fired(fresh_entry("tick", NOW, SECOND), until)
    assert shard.safe_watermark() is not None
    shard.taken(Lease(0, "a", 2))
    assert shard.safe_watermark() is None
    shard.end_sweep(shard.begin_read(until), since=NOW, until=Instant(until + SECOND))
    assert shard.safe_watermark() is not None


def test_what_an_earlier_ownership_sent_settles_nothing_else() -> None:
    """Seed 213: its late answer was counted for another slot, and the entry was deleted with one unsent."""
    every = Every(interval_ms=SECOND, anchor=NOW, end_at=Instant(NOW + SECOND))
    entry = replace(fresh_entry("tick", NOW, SECOND), schedule=every)
    before = Shard(Lease(0, "a", 1), TIMING, NOW)
    before.absorb(entry, NOW)
    [early] = before.expire(NOW, Room(1_000))
    after = Shard(Lease(0, "a", 3, watermark=Instant(NOW + 1)), TIMING, NOW)
    after.absorb(replace(entry, fresh=False), NOW)
    [last] = after.expire(Instant(NOW + SECOND), Room(1_000))
    after.settle(early)
    assert not after.to_delete
    after.settle(last)
    assert list(after.to_delete) == [entry.entry_id]


def test_a_gap_has_a_row_of_its_own_though_its_first_slot_was_fired() -> None:
    """Seed 177: the row of the first slot was there, so the gap was not recorded, and twelve slots left no trace."""
    world = World(is_worked=False)
    first = world.start_node("a")
    job = world.create("tick", every="PT1S")
    world.run(3 * SECOND)
    slot = world.run(1_500)[0].slot
    row = Run(job.job_key, run_id_of(slot), RunKind.SCHEDULED, slot, slot, RunStatus.SUCCEEDED, job.generation)
    assert world.runs.insert([row]) == [None]
    world.kill(first)
    leases = world.tables.leases
    world.tables.leases = {shard: replace(leases[shard], watermark=Instant(slot - 1)) for shard in leases}
    world.clock.advance(10 * MINUTE)
    world.start_node("b")
    world.run(10 * SECOND)
    gaps = [run for run in world.runs.list_of_job(job.job_key, limit=100).items if run.gap is not None]
    assert [gap.gap.first for gap in gaps if gap.gap is not None] == [slot]
    assert world.runs.get(RunKey(job.job_key, run_id_of(slot))) == row


def test_a_crowd_that_the_wheel_opens_by_parts_is_not_passed() -> None:
    """The wheel may answer nothing while it sorts a crowded bucket; what is due there is unsettled all the same."""
    now = NOW
    shard = Shard(Lease(0, "a", 1), TIMING, now)
    reading = shard.begin_read(now)
    fires_at = Instant(now + 500_000)
    for number in range(9_000):
        entry = Entry(
            shard=0,
            entry_id=f"acme/{number}#r",
            job_key=f"acme/{number}",
            generation=now,
            # Spread over one coarse bucket, so that it has to be opened first.
            next_at=Instant(fires_at + number % 1_000),
            from_at=now,
            run_id="r",
            slot=Instant(fires_at + number % 1_000),
        )
        shard.absorb(entry, now, reading)
    shard.end_load(reading, until=Instant(now + 600_000))
    late, fired = Instant(fires_at + 5_000), 0
    while fired < 9_000:
        dues = shard.expire(late, Room(1_000))
        fired += len(dues)
        for due in dues:
            shard.settle(due)
        if fired < 9_000:
            assert (shard.safe_watermark() or now) < fires_at + 1_000
    shard.expire(late, Room(1_000))
    assert (shard.safe_watermark() or now) == late + TIMING.lead_ms


def test_a_fresh_entry_is_marked_once_however_often_it_fires() -> None:
    world, marked = World(), list[EntryKey]()

    class Entries(MemoryEntryStore):
        def clear_fresh(self, keys: Collection[EntryKey]) -> None:
            marked.extend(keys)
            super().clear_fresh(keys)

    world.start_node("a", entries=Entries(world.tables))
    job = world.create("tick", every="PT1S")
    world.run(30 * SECOND)
    assert len(world.sent) > 20
    assert marked == [*entry_keys(job, shard_count=SHARDS)[:1]]


def test_a_job_whose_last_slot_no_worker_had_is_ended_before_the_watermark_passes() -> None:
    until = Instant(NOW + 10 * SECOND)
    shard = Shard(Lease(0, "a", 1), TIMING, NOW)
    shard.end_load(shard.begin_read(NOW), until=Instant(NOW + TIMING.horizon_ms))
    once = replace(fresh_entry("once", NOW, SECOND), schedule=At(instant=NOW))
    shard.absorb(once, NOW)
    [last] = shard.expire(until, Room(1_000))
    shard.settle(last, by_row=True)
    assert shard.exhausted == [once]
    assert shard.safe_watermark() is None
    shard.tidied([], {}, [once])
    assert shard.safe_watermark() is not None
