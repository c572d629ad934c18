"""Slots that were missed, and jobs that change or are far away: B01 to B10, B28, B31 to B37, B43, B44, B53."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job, JobState
from shared.domain.run import Run, RunKind
from shared.domain.schedules import Misfire, default_misfire, fire_at, next_slot, parse_schedule, slots
from tests.unit.scheduler.world import World, slots_of


def at(instant: int) -> str:
    return to_rfc3339(Instant(instant))


def gaps(world: World, job: Job) -> list[Run]:
    return [run for run in world.tables.runs.values() if run.job_key == job.job_key and run.gap is not None]


def stop_fleet(world: World, duration_ms: int) -> None:
    """Nobody lives for a while; then a node of a new name starts."""
    for node in list(world.nodes):
        world.kill(node)
    world.clock.advance(duration_ms)
    world.start_node(f"node-{world.now}")


def test_one_of_120_missed_slots_is_caught_up_and_the_others_are_recorded() -> None:
    """B01."""
    world = World()
    world.start_node("a")
    job = world.create("five-minutes", every="PT5M")
    world.run(5 * MINUTE + 5 * SECOND)
    world.sent.clear()
    stop_fleet(world, 10 * HOUR + 2 * MINUTE)
    back_at = world.now
    caught_up = world.run(30 * SECOND)

    newest = (back_at - job.created_at) // (5 * MINUTE) * (5 * MINUTE) + job.created_at
    assert [(each.kind, each.slot) for each in caught_up] == [(RunKind.CATCH_UP, newest)]
    [gap] = gaps(world, job)
    assert gap.gap is not None
    assert gap.gap.count == 119
    assert slots_of(world.run(5 * MINUTE)) == [newest + 5 * MINUTE]


def test_ten_thousand_missed_slots_are_no_more_work() -> None:
    """B01."""
    world = World()
    job = world.create("often", every="PT1S")
    world.clock.advance(10_000 * SECOND + MINUTE)
    world.start_node("a")
    sent = world.run(30 * SECOND)

    assert sum(each.kind is RunKind.CATCH_UP for each in sent) == 1
    [gap] = gaps(world, job)
    assert gap.gap is not None
    assert gap.gap.count >= 9_990


@pytest.mark.parametrize("policy", ["skip", "fire_once", "fire_all"])
def test_a_slot_whose_jitter_carries_it_past_the_grace_fires_at_its_time(policy: Any) -> None:
    """Planned long before now, and due after it: the policy is not asked."""
    world = World()
    job = world.create("spread", misfire=Misfire(policy=policy), every="PT5M", window="PT5M")
    planned = islice(slots(job.schedule, Instant(world.now - 1)), 40)
    fires = {slot: fire_at(job.schedule, job.job_key, slot) for slot in planned}
    slot = next(
        slot for slot, due in fires.items() if slot > world.now and due - slot > 3 * MINUTE and due < slot + 5 * MINUTE
    )
    world.clock.advance(slot + 2 * MINUTE - world.now)
    world.start_node("a")

    sent = world.run(4 * MINUTE)

    [mine] = [each for each in sent if each.slot == slot]
    assert (mine.kind, mine.fire_at) == (RunKind.SCHEDULED, fires[slot])
    assert mine.enqueued_at >= fires[slot] - 2 * SECOND
    assert not [gap for gap in gaps(world, job) if gap.gap is not None and gap.gap.last >= slot]
    earlier = [each for each in sent if each.kind is RunKind.CATCH_UP]
    assert [each.slot for each in earlier][-1:] == ([] if policy == "skip" else [slot - 5 * MINUTE])


def test_a_process_that_stalled_catches_up_as_one_that_was_restarted_does() -> None:
    """B04."""
    world = World()
    world.start_node("a")
    due = (world.now // MINUTE + 1) * MINUTE
    world.create("daily", cron=daily(due))
    world.run(50 * SECOND)
    world.clock.advance(8 * MINUTE + 31 * SECOND)
    sent = world.run(30 * SECOND)

    assert [(each.kind, each.slot) for each in sent] == [(RunKind.CATCH_UP, due)]


def daily(instant: int) -> str:
    minute = instant // MINUTE % 60
    hour = instant // HOUR % 24
    return f"{minute} {hour} * * *"


@pytest.mark.parametrize(
    "schedule",
    [{"every": "PT1S"}, {"every": "PT10S"}, {"every": "PT20S"}, {"cron": "*/20 * * * * *", "seconds": True}],
    ids=str,
)
def test_after_an_outage_a_job_of_short_intervals_is_caught_up_once_and_then_steady(schedule: dict[str, Any]) -> None:
    world = World()
    world.start_node("a")
    planned = parse_schedule(schedule, now=world.now)
    job = world.create("tick", default_misfire(planned), **schedule)
    world.run(MINUTE)
    world.clock.advance(10 * MINUTE + 500)
    back_at = world.now
    world.sent.clear()
    world.run(2 * MINUTE)

    gap_ms = next_slot(planned, back_at) - max(each.slot for each in world.sent if each.slot <= back_at)  # type: ignore[operator]
    [caught_up] = [each for each in world.sent if each.kind is RunKind.CATCH_UP]
    in_time = [each for each in world.sent if each.kind is not RunKind.CATCH_UP]
    assert slots_of(in_time) == list(range(caught_up.slot + gap_ms, world.now + 300, gap_ms))
    assert caught_up.slot >= back_at - 2 * gap_ms - 2 * SECOND
    [gap] = gaps(world, job)
    assert gap.gap is not None
    assert gap.gap.last == caught_up.slot - gap_ms


@pytest.mark.parametrize("late_ms", [2 * SECOND, 45 * SECOND, 10 * MINUTE])
def test_a_late_one_time_job_runs_however_late(late_ms: int) -> None:
    """B05."""
    world = World()
    job = world.create("once", at=at(world.now + SECOND), misfire=Misfire(grace_ms=None))
    world.clock.advance(SECOND + late_ms)
    world.start_node("a")
    [sent] = world.run(10 * SECOND)
    run = world.runs.get(sent.key)

    assert sent.job_key == job.job_key
    assert run is not None
    assert run.drift is not None
    assert run.drift["total"] >= late_ms


def test_skipped_slots_leave_a_trace() -> None:
    """B07."""
    world = World()
    world.start_node("a")
    job = world.create("five-minutes", every="PT5M", misfire=Misfire("skip"))
    world.run(5 * MINUTE + 5 * SECOND)
    stop_fleet(world, 14 * MINUTE)
    assert world.run(50 * SECOND) == []
    [gap] = gaps(world, job)
    assert gap.gap is not None
    assert (gap.gap.count, gap.reason) == (2, "misfire")
    assert world.nodes[0].counts.skipped == 2
    assert len(world.run(5 * MINUTE)) == 1


def test_a_short_outage_costs_neither_a_one_time_job_nor_a_daily_one() -> None:
    """B08."""
    world = World()
    world.start_node("a")
    due = (world.now // MINUTE + 2) * MINUTE
    world.create("once", at=at(due), misfire=Misfire(grace_ms=None))
    world.create("daily", cron=daily(due))
    world.run(MINUTE)
    stop_fleet(world, 2 * MINUTE)
    sent = world.run(30 * SECOND)

    assert sorted(each.job_key for each in sent) == ["acme/daily", "acme/once"]
    assert {each.slot for each in sent} == {due}


def test_fire_all_runs_the_newest_in_order_and_records_the_others() -> None:
    """B10."""
    world = World()
    world.start_node("a")
    job = world.create("minutely", every="PT1M", misfire=Misfire("fire_all", limit=10))
    world.run(MINUTE + 5 * SECOND)
    stop_fleet(world, HOUR + MINUTE)
    sent = [each for each in world.run(30 * SECOND) if each.kind is RunKind.CATCH_UP]

    assert len(sent) == 10
    assert slots_of(sent) == sorted(slots_of(sent))
    [gap] = gaps(world, job)
    assert gap.gap is not None
    assert gap.gap.last + MINUTE == sent[0].slot
    assert gap.gap.count in {50, 51}


@pytest.mark.parametrize("far_ms", [2**31 - 1, 2**31, 2**31 + 1, 30 * DAY, 400 * DAY, 20 * 365 * DAY])
def test_a_far_one_time_job_is_neither_early_nor_late(far_ms: int) -> None:
    """B28."""
    world = World()
    world.start_node("a")
    due = world.now + far_ms
    world.create("far", at=at(due))
    world.run(3 * SECOND)
    for left_ms in (12 * DAY, 11 * MINUTE, 20 * SECOND):
        world.clock.advance(max(due - left_ms - world.now, 0))
        assert [each for each in world.run(5 * SECOND) if each.enqueued_at < due - 300] == []
    world.run(max(due - world.now, 0) + 5 * SECOND)

    assert slots_of(world.sent) == [due]


@pytest.mark.parametrize("ahead_ms", [3 * SECOND, 20 * SECOND, 59 * SECOND])
def test_a_job_created_while_nothing_is_due_does_not_wait_for_the_next_load(ahead_ms: int) -> None:
    """B31."""
    world = World()
    world.start_node("a")
    world.create("hours-away", at=at(world.now + 5 * HOUR))
    world.run(10 * SECOND)
    world.create("soon", at=at(world.now + ahead_ms))
    [sent] = world.run(ahead_ms + 5 * SECOND)
    assert sent.enqueued_at <= sent.fire_at


def test_a_job_of_five_seconds_fires_24_times_in_two_minutes() -> None:
    """B31, B32."""
    world = World()
    world.start_node("a")
    job = world.create("five", every="PT5S")
    sent = world.run(2 * MINUTE + SECOND)
    assert slots_of(sent) == [job.created_at + number * 5 * SECOND for number in range(1, 25)]


@pytest.mark.parametrize(("hour_now", "hour_then", "first_day"), [(12, 16, 0), (15, 14, 1)])
def test_a_changed_cron_fires_next_as_seen_from_now(hour_now: int, hour_then: int, first_day: int) -> None:
    """B34: not at once, and not for a time of today that is over."""
    world = World()
    midnight = world.now // DAY * DAY
    world.start_node("a")
    job = world.create("daily", cron="30 13 * * *")
    world.clock.advance(max(midnight + DAY + hour_now * HOUR + 20 * MINUTE - world.now, 0))
    world.run(10 * SECOND)
    world.sent.clear()
    world.reschedule(job, cron=f"0 {hour_then} * * *")
    world.run(10 * SECOND)
    assert world.sent == []

    due = midnight + (1 + first_day) * DAY + hour_then * HOUR
    world.clock.advance(due - MINUTE - world.now)
    assert slots_of(world.run(2 * MINUTE)) == [due]


def test_a_paused_job_never_fires_again_and_its_owner_learns_within_five_seconds() -> None:
    """B35, B02."""
    world = World()
    world.start_node("a")
    job = world.create("tick", every="PT1S")
    world.run(10 * SECOND)
    world.reschedule(job, state=JobState.PAUSED)
    paused_at = world.now
    sent = world.run(MINUTE)
    assert [each for each in sent if each.enqueued_at > paused_at + 5 * SECOND] == []


def test_a_job_deleted_and_created_again_fires_once_for_its_last_creation() -> None:
    """B37: a hundred times in a row, each within 200 ms."""
    world = World()
    world.start_node("a")
    due = Instant(world.now + MINUTE)
    world.run(3 * SECOND)
    job = world.create("again", at=at(due))
    for _ in range(100):
        world.run(100)
        cancelled = world.cancel(job)
        world.run(50)
        job = world.change(
            cancelled,
            replace(
                job,
                generation=cancelled.generation + 1,
                from_at=world.now,
                revision=cancelled.revision + 1,
                state=JobState.ACTIVE,
            ),
        )
    sent = world.run(2 * MINUTE)
    assert [(each.slot, each.generation) for each in sent] == [(due, job.generation)]


def test_a_herd_is_sent_whole_and_no_earlier_than_the_lead() -> None:
    """B43."""
    world = World()
    for node_id in "ab":
        world.start_node(node_id)
        world.run(5 * SECOND)
    due = (world.now // MINUTE + 1) * MINUTE
    for number in range(5_000):
        world.create(f"herd-{number}", cron="* * * * *")
    world.run(due - world.now + 10 * SECOND)

    herd = [each for each in world.sent if each.slot == due]
    assert len({each.job_key for each in herd}) == len(herd) == 5_000
    assert min(each.enqueued_at - each.fire_at for each in herd) >= -300
    assert max(each.enqueued_at - each.fire_at for each in herd) <= 3 * SECOND


def test_jitter_is_the_same_after_a_restart_and_within_its_window() -> None:
    """B43, B44."""
    world = World()
    world.start_node("a")
    for number in range(50):
        world.create(f"tick-{number}", every="PT1M", window="PT20S")
    world.run(3 * MINUTE)
    stop_fleet(world, 5 * SECOND)
    world.run(3 * MINUTE)

    by_job: dict[str, set[int]] = {}
    fire_at: dict[tuple[str, Instant], set[Instant]] = {}
    for each in world.sent:
        assert 0 <= each.fire_at - each.slot < 20 * SECOND
        by_job.setdefault(each.job_key, set()).add(each.slot % MINUTE)
        fire_at.setdefault((each.job_key, each.slot), set()).add(each.fire_at)
    assert {len(phases) for phases in by_job.values()} == {1}
    assert {len(instants) for instants in fire_at.values()} == {1}
    assert len({instants.pop() % MINUTE for instants in fire_at.values()}) > 30


def test_nothing_of_a_job_that_is_due_in_two_hours_waits_in_a_queue() -> None:
    """B53."""
    world = World()
    world.start_node("a")
    world.create("later", at=at(world.now + 2 * HOUR))
    for _ in range(11):
        world.run(5 * SECOND)
        world.clock.advance(10 * MINUTE)
    assert world.sent == []
    world.run(12 * MINUTE)
    assert len(world.sent) == 1
