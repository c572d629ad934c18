"""A node that is behind sends what waits, rather than to look for still more that is due."""

from __future__ import annotations

from functions.scheduler.due import Due
from functions.scheduler.keeping import ENDS_AT_ONCE
from functions.scheduler.outbox import BATCH, Outbox
from functions.scheduler.recording import ROWS_AT_ONCE
from shared.domain.entry import Entry
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.run import RunKind
from shared.domain.schedules import Misfire
from shared.schema import CATCH_UP_LANE
from tests.unit.scheduler.world import SHARDS, World

NOW = Instant(1_000_000)


def waiting(count: int, lane: str = "default") -> list[Due]:
    entry = Entry(0, "acme/tick#1", "acme/tick", 1, NOW, NOW)
    return [Due(0, entry, Instant(NOW + number), NOW, RunKind.SCHEDULED, lane) for number in range(count)]


def outbox() -> Outbox:
    return Outbox(patience=0.1, catch_up_per_second=50.0)


def test_each_lane_holds_so_much() -> None:
    box = Outbox(patience=0.1, catch_up_per_second=50.0, most_waiting=5)
    box.put(waiting(3), at=0.0)
    box.put(waiting(4, CATCH_UP_LANE), at=0.0)
    assert (box.free_in("default"), box.free_in(CATCH_UP_LANE), box.free_in("other")) == (2, 1, 5)


def test_a_full_batch_does_not_take_along_what_may_still_fill_the_next() -> None:
    box = outbox()
    box.put(waiting(BATCH + 3), at=0.0)
    assert len(box.take(at=0.05)["default"]) == BATCH
    assert box.take(at=0.099) == {}
    assert len(box.take(at=0.1)["default"]) == 3


def test_what_is_left_has_waited_since_it_came() -> None:
    box = outbox()
    box.put(waiting(BATCH - 1), at=0.0)
    box.put(waiting(4), at=0.09)
    assert len(box.take(at=0.09)["default"]) == BATCH
    assert box.take(at=0.18) == {}
    assert len(box.take(at=0.19)["default"]) == 3


def test_whoever_has_waited_enough_goes_with_all_others() -> None:
    box = outbox()
    box.put(waiting(BATCH + 3), at=0.0)
    assert len(box.take(at=0.1)["default"]) == BATCH + 3


def test_rows_of_an_outage_are_written_by_and_by_and_what_is_due_goes_first() -> None:
    world = World()
    for number in range(2 * ROWS_AT_ONCE + 1):
        world.create(f"reminder-{number}", misfire=Misfire(policy="skip"), every="PT1H")
    world.clock.advance(HOUR + 2 * MINUTE)
    node = world.start_node("a")
    for step in (node.plan_once, node.load_once, node.tick_once):
        step()

    written = []
    while node.dispatcher.recorder.waiting:
        node.dispatch_once()
        written.append(len(world.tables.runs))

    assert written == [ROWS_AT_ONCE, 2 * ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 1]


def test_jobs_that_end_without_a_run_are_ended_by_and_by_before_their_entries_go() -> None:
    world = World()
    count = ENDS_AT_ONCE + SHARDS
    soon = to_rfc3339(Instant(world.now + SECOND))
    for number in range(count):
        world.create(f"reminder-{number}", misfire=Misfire(policy="skip"), at=soon)
    world.clock.advance(2 * MINUTE)
    node = world.start_node("a")
    for step in (node.plan_once, node.load_once, node.tick_once):
        step()
    while node.dispatcher.recorder.waiting:
        node.dispatch_once()

    turns = 0
    while len(world.entry_ids()):
        node.tidy_once()
        turns += 1
        active = {job.job_key for job in world.tables.jobs.values() if job.state is JobState.ACTIVE}
        entries = {entry_id.split("#")[1] for entry_id in world.entry_ids()}
        assert active <= entries
        assert turns < 20

    assert turns > 1


def test_a_herd_is_taken_from_the_wheels_by_and_by_and_nothing_is_lost() -> None:
    world = World()
    node = world.start_node("a", settings={"slots_at_once": 300, "most_waiting": 500})
    count = 2_000
    due = to_rfc3339(Instant(world.now + 5 * SECOND))
    for number in range(count):
        world.create(f"once-{number}", at=due)
    node.plan_once()
    node.load_once()
    world.clock.advance(5 * SECOND)
    node.beat_once()
    node.plan_once()
    node.tick_once()
    assert node.dispatcher.unsent == 300
    for _ in range(20):
        node.tick_once()
    assert node.dispatcher.unsent == 500
    while node.dispatch_once(hurry=True):
        node.tick_once()
    assert node.counts.accepted == count
    assert count % BATCH == 0
