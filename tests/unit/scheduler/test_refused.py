"""What the queue will never take."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.entry import single_entry
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.job import Job, JobState
from shared.domain.keys import run_id_of
from shared.domain.message import Dispatch
from shared.domain.redrive import run_again
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.sharding import shard_of
from shared.ports import SendReport, Written
from tests.unit.scheduler.world import SHARDS, World


class Refusing:
    """A queue that takes nothing, for the sender's fault."""

    def send(self, dispatches: list[Dispatch]) -> SendReport:
        return SendReport(refused=dict.fromkeys(range(len(dispatches)), "InvalidMessageContents"))


def refusing_world() -> World:
    world = World()
    world.start_node("a", queues=dict.fromkeys(world.queues, Refusing()))
    return world


def plan_manual_run(world: World, job: Job) -> Run:
    now = world.now
    run = Run(
        job_key=job.job_key,
        run_id=run_id_of(now, "-m1"),
        kind=RunKind.MANUAL,
        slot=now,
        fire_at=now,
        status=RunStatus.WAITING,
        generation=job.generation,
        token=0,
        claim_id="plan-1",
        lease_until=now,
    )
    return planned(world, run, seen=None)


def planned(world: World, run: Run, *, seen: Run | None) -> Run:
    entry = single_entry(run, shard=shard_of(run.job_key, SHARDS), lane="default")
    assert world.runs.plan(run, entry, seen=seen) == Written()
    return run


def test_the_row_of_a_single_fire_that_is_refused_waits_no_longer() -> None:
    world = refusing_world()
    run = plan_manual_run(world, world.create("daily", every="P1D"))
    world.run(5 * SECOND)
    row = world.runs.get(run.key)
    assert row is not None
    assert (row.status, row.token, row.error.type if row.error else None) == (RunStatus.FAILED, 1, "dispatch_refused")
    assert row.ended_at is not None
    assert single_entry(run, shard=0, lane="default").entry_id not in world.entry_ids()


def test_a_run_that_is_to_run_again_is_not_failed_by_the_refusal_of_its_earlier_fire() -> None:
    world = refusing_world()
    run = plan_manual_run(world, world.create("daily", every="P1D"))
    world.clock.advance(1)
    (node,) = world.nodes
    for step in (node.plan_once, node.load_once, node.tick_once):
        step()
    later = Instant(world.now + 60 * SECOND)
    again = planned(world, run_again(run, generation=run.generation, at=later, claim_id="plan-2"), seen=run)
    node.dispatch_once(hurry=True)
    assert node.counts.refused == 1
    assert world.runs.get(run.key) == again


def test_a_run_that_a_worker_has_is_not_failed_by_a_refusal() -> None:
    world = refusing_world()
    run = plan_manual_run(world, world.create("daily", every="P1D"))
    claimed = replace(run, status=RunStatus.RUNNING, token=1, claim_id="claim-1")
    assert world.runs.take_over(claimed, seen=run) is None
    world.run(5 * SECOND)
    assert world.runs.get(run.key) == claimed


def test_a_job_whose_last_slot_is_refused_is_completed() -> None:
    world = refusing_world()
    once = world.create("once", at=to_rfc3339(Instant(world.now + SECOND)))
    twice = world.create("twice", every="PT1S", max_runs=2)
    world.run(5 * SECOND)
    assert [world.jobs.get(job.job_key).state for job in (once, twice)] == [JobState.COMPLETED] * 2  # type: ignore[union-attr]
    assert world.entry_ids() == set()
