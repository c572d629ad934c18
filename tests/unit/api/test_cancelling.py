from __future__ import annotations

from dataclasses import replace

import pytest

from shared.adapters.dynamodb.job_rows import CANCELLATION
from shared.adapters.memory import MemoryJobStore, MemoryRunStore
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.job import Cancellation, Job, JobState
from shared.domain.keys import run_id_of
from shared.domain.limits import MAX_NAMED_RUNS
from shared.domain.run import Finish, Run, RunKind, RunStatus
from shared.domain.timing import ALIVE_READ_BACK_MS
from shared.ports import Completion
from tests.unit.api.test_idempotency import LosesAnswers
from tests.unit.api.world import World

PATH = "/v1/jobs/nightly-report"


def run_of(world: World, job: Job, slot: Instant, status: RunStatus = RunStatus.RUNNING) -> Run:
    """A run that a worker has claimed, and, where `status` is no longer alive, finished."""
    run = world.claimed(job, slot)
    if not status.is_alive:
        ended = Finish(run.key, run.token, status, ended_at=Instant(slot + SECOND))
        assert world.runs.finish([ended]) == [ended.status]
    return run


def test_a_job_that_never_fired_is_cancelled_before_fire_and_has_a_tombstone() -> None:
    world = World()
    world.create()
    now = world.clock.advance(HOUR)
    reply = world.send("DELETE", PATH)
    assert (reply.status, reply.json) == (200, {"outcome": "cancelled_before_fire", "run_ids": [], "run_count": 0})
    assert world.job().state is JobState.CANCELLED
    assert world.entry().is_tombstone
    assert world.entry().next_at == now
    assert world.send("GET", PATH).json["state"] == "cancelled"


def test_the_runs_that_are_alive_are_named_in_order() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    now = world.clock.advance(5 * MINUTE)
    later, earlier = run_of(world, job, now), run_of(world, job, Instant(now - MINUTE))
    run_of(world, job, Instant(now - 2 * MINUTE), RunStatus.SUCCEEDED)
    reply = world.send("DELETE", PATH)
    assert reply.json == {"outcome": "running", "run_ids": [earlier.run_id, later.run_id], "run_count": 2}


def test_a_repeat_answers_the_same_though_the_run_has_ended_since() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE))
    first = world.send("DELETE", PATH)
    world.runs.finish([Finish(run.key, run.token, RunStatus.SUCCEEDED, ended_at=world.clock.advance(SECOND))])
    before = world.contents()
    again = world.send("DELETE", PATH)
    assert (again.status, again.json) == (200, first.json)
    assert world.contents() == before


def test_a_completed_job_had_ended_already_and_its_id_becomes_free() -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + DAY))])
    for _ in range(2):
        assert world.send("DELETE", PATH).json == {"outcome": "already_ended", "run_ids": [], "run_count": 0}
    world.create()


def test_a_late_run_of_a_completed_job_is_named() -> None:
    """Simulation seed 99: the last slot had run, and an earlier one was claimed but had not started."""
    world = World()
    job = world.create(schedule={"every": "PT1M", "max_runs": 2})
    run = run_of(world, job, world.clock.advance(MINUTE))
    world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + DAY))])
    for _ in range(2):
        assert world.send("DELETE", PATH).json == {"outcome": "running", "run_ids": [run.run_id], "run_count": 1}


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (RunStatus.SUCCEEDED, "already_ended"),
        (RunStatus.FAILED, "already_ended"),
        (RunStatus.TIMED_OUT, "already_ended"),
        (RunStatus.SKIPPED, "cancelled_before_fire"),
    ],
)
def test_a_job_whose_last_run_is_over_had_ended_though_nobody_said_so_yet(status: RunStatus, outcome: str) -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    run_of(world, job, world.clock.advance(5 * SECOND), status)
    world.clock.advance(MINUTE)
    assert world.send("DELETE", PATH).json["outcome"] == outcome


def test_a_recurring_job_with_runs_behind_it_is_cancelled_before_its_next_fire() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run_of(world, job, world.clock.advance(MINUTE), RunStatus.SUCCEEDED)
    assert world.send("DELETE", PATH).json == {"outcome": "cancelled_before_fire", "run_ids": [], "run_count": 0}


class Watching(MemoryRunStore):
    """Sees in which state the job is when the runs are read."""

    def __init__(self, world: World) -> None:
        super().__init__(world.tables)
        self.world = world
        self.seen: list[tuple[JobState, int]] = []

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        self.seen.append((self.world.job().state, since))
        return super().alive(job_key, since=since)


def test_what_is_alive_is_read_only_after_the_cancel_is_written() -> None:
    world = World()
    world.create()
    store = Watching(world)
    world.send("DELETE", PATH, handler=world.process(runs=store))
    assert store.seen == [(JobState.CANCELLED, world.clock.now() - ALIVE_READ_BACK_MS)]


def test_a_cancel_whose_process_died_before_its_answer_is_answered_by_the_repeat() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    run = run_of(world, job, world.clock.advance(MINUTE))
    lost = world.send("DELETE", PATH, handler=world.process(jobs=LosesAnswers(world.tables)))
    assert lost.status == 503
    assert world.job().cancellation is None
    world.clock.advance(HOUR)
    again = world.send("DELETE", PATH)
    assert again.json == {"outcome": "running", "run_ids": [run.run_id], "run_count": 1}
    assert world.job().cancellation is not None
    assert world.job().revision == 2


class AnsweredMeanwhile(MemoryJobStore):
    """Another DELETE stores its answer first."""

    def record_cancellation(self, job_key: str, generation: int, cancellation: Cancellation) -> Cancellation:
        super().record_cancellation(job_key, generation, replace(cancellation, run_ids=("first",)))
        return super().record_cancellation(job_key, generation, cancellation)


def test_of_two_deletes_at_once_both_give_the_answer_that_was_stored_first() -> None:
    world = World()
    world.create()
    reply = world.send("DELETE", PATH, handler=world.process(jobs=AnsweredMeanwhile(world.tables)))
    assert reply.json["run_ids"] == ["first"]
    assert world.send("DELETE", PATH).json["run_ids"] == ["first"]


def test_a_cancelled_job_is_gone_when_it_expires() -> None:
    world = World()
    world.create(keep_after_completion="PT0S")
    world.send("DELETE", PATH)
    world.clock.advance(DAY - 1)
    assert world.send("DELETE", PATH).status == 200
    world.clock.advance(1)
    assert world.send("DELETE", PATH).status == 404


class Unreadable(MemoryRunStore):
    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        del job_key, since
        raise OutcomeUnknown("runs.alive", "timed out")


def test_a_cancel_that_cannot_read_what_is_alive_says_nothing_false() -> None:
    world = World()
    world.create()
    reply = world.send("DELETE", PATH, handler=world.process(runs=Unreadable(world.tables)))
    assert reply.status == 503
    assert world.send("DELETE", PATH).json["outcome"] == "cancelled_before_fire"


def test_of_a_great_many_runs_that_are_alive_some_are_named_and_all_are_counted() -> None:
    """An item of DynamoDB holds 400 KB; a payload may take a third of it."""
    world = World()
    job = world.create(schedule={"every": "PT1S"})
    count = 21_600
    for number in range(count):
        slot = Instant(job.created_at + number * SECOND)
        status = RunStatus.RUNNING if number >= count - 2 else RunStatus.WAITING
        run = Run(job.job_key, run_id_of(slot), RunKind.SCHEDULED, slot, slot, status, job.generation)
        world.tables.put_run(run, Instant(slot + 6 * HOUR))
    first = world.send("DELETE", PATH)
    assert (first.status, first.json["outcome"], first.json["run_count"]) == (200, "running", count)
    named = first.json["run_ids"]
    assert (len(named), named) == (MAX_NAMED_RUNS, sorted(named))
    # A worker has these.
    assert named[-2:] == [run_id_of(Instant(job.created_at + number * SECOND)) for number in (count - 2, count - 1)]
    assert len(CANCELLATION.write(world.job().cancellation)["S"]) < 100_000
    world.tables.runs.clear()
    assert world.send("DELETE", PATH).text == first.text
