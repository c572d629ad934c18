"""The last slot of a schedule completes its job, though a worker may die in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.job import Job, JobState, RetryPolicy
from shared.domain.message import Dispatch
from shared.domain.run import RunKind, RunStatus
from shared.domain.schedules import At, Every
from shared.ports import Completion, JobWrite, Written
from tests.unit.worker.workshop import Workshop


def test_the_last_slot_completes_the_job_and_dates_its_row(shop: Workshop) -> None:
    job = shop.put_one_time(keep_after_completion_ms=DAY)
    dispatch = shop.dispatch(job)

    shop.run_all(shop.executor())

    stored = shop.tables.jobs[job.job_key]
    assert stored.state is JobState.COMPLETED
    assert stored.revision == job.revision
    assert stored.expires_at == (shop.run_of(dispatch).ended_at or 0) + DAY


def test_a_failed_last_slot_completes_the_job_too(shop: Workshop) -> None:
    job = shop.put_one_time()
    shop.dispatch(job)
    shop.target.answer = lambda _: failed("http_4xx", "no")

    shop.run_all(shop.executor())

    assert shop.tables.jobs[job.job_key].state is JobState.COMPLETED


def test_a_duplicate_of_a_run_of_an_earlier_job_of_the_id_completes_nothing(shop: Workshop) -> None:
    """While the run of the new job goes on, and though the slot is the last one of both."""
    earlier = shop.put_one_time()
    shop.dispatch(earlier)
    shop.run_all(shop.executor())
    shop.clock.advance(MINUTE)
    now = shop.clock.now()
    anew = replace(earlier, generation=now, first_generation=now, from_at=now, created_at=now)
    shop.tables.jobs[anew.job_key] = anew

    shop.dispatch(earlier, earlier.from_at)
    shop.run_all(shop.executor())

    assert len(shop.target.calls) == 1
    assert shop.tables.jobs[anew.job_key].state is JobState.ACTIVE


def test_a_slot_before_the_last_completes_nothing(shop: Workshop) -> None:
    now = shop.clock.now()
    job = shop.put_job(schedule=Every(interval_ms=MINUTE, anchor=now, end_at=Instant(now + MINUTE)))
    shop.dispatch(job)
    executor = shop.executor()

    shop.run_all(executor)
    assert shop.tables.jobs[job.job_key].state is JobState.ACTIVE

    shop.clock.advance(MINUTE)
    shop.dispatch(job)
    shop.run_all(executor)
    assert shop.tables.jobs[job.job_key].state is JobState.COMPLETED


def test_a_manual_fire_of_a_one_time_job_completes_nothing(shop: Workshop) -> None:
    job = shop.put_one_time()

    shop.dispatch(job, kind=RunKind.MANUAL, is_single=True)

    shop.run_all(shop.executor())

    assert shop.tables.jobs[job.job_key].state is JobState.ACTIVE


def test_a_job_whose_completion_failed_is_completed_before_its_message_goes(shop: Workshop) -> None:
    job = shop.put_one_time()
    shop.dispatch(job)

    class FailsOnce(MemoryJobStore):
        failures = 1

        def complete(self, completions: Sequence[Completion]) -> list[bool]:
            if self.failures:
                self.failures -= 1
                raise StoreThrottled("complete", "too fast")
            return super().complete(completions)

    executor = shop.executor(job_store=FailsOnce(shop.tables))
    with pytest.raises(StoreThrottled):
        shop.run_all(executor)
    assert len(shop.queue) == 1

    executor.finish_once()

    assert shop.tables.jobs[job.job_key].state is JobState.COMPLETED
    assert len(shop.queue) == 0


def test_a_job_whose_worker_died_between_finish_and_completion_is_completed_by_the_duplicate(shop: Workshop) -> None:
    job = shop.put_one_time()
    shop.dispatch(job)
    deliveries = shop.receive()
    executor = shop.executor()
    executor.claim_once(deliveries)
    shop.start_all(executor)
    [(_, finish)] = executor.runs.take_ending(1)
    shop.run_store.finish([finish])

    shop.executor().claim_once(shop.deliver_again(deliveries))

    assert shop.tables.jobs[job.job_key].state is JobState.COMPLETED


def two_slots(shop: Workshop, **changes: object) -> Job:
    """A job with a slot now and its last one in a minute, whose row goes as soon as it may."""
    now = shop.clock.now()
    schedule = Every(interval_ms=MINUTE, anchor=now, end_at=Instant(now + MINUTE))
    given = {"schedule": schedule, "overlap": "skip", "keep_after_completion_ms": 0, "timeout_ms": HOUR}
    return shop.put_job(**given | changes)  # type: ignore[arg-type]


def last_slot_left_out(shop: Workshop, executor: Executor, **changes: object) -> tuple[Job, Dispatch, LiveRun]:
    """Its first run goes on while its last slot is due."""
    job = two_slots(shop, **changes)
    first = shop.dispatch(job)
    live, _ = shop.begin(executor)
    for _ in range(6):
        shop.clock.advance(10 * SECOND)
        executor.heartbeat_once()
    last = shop.dispatch(job)
    shop.run_all(executor)
    assert shop.run_of(last).status is RunStatus.SKIPPED
    return job, first, live


def state_of(shop: Workshop, job: Job) -> JobState:
    return shop.tables.jobs[job.job_key].state


def test_a_last_slot_that_is_left_out_leaves_the_job_to_the_run_that_goes_on(shop: Workshop) -> None:
    executor = shop.executor()
    job, first, live = last_slot_left_out(shop, executor)
    assert state_of(shop, job) is JobState.ACTIVE

    executor.end(live, succeeded())
    executor.finish_once()

    assert shop.run_of(first).status is RunStatus.SUCCEEDED
    assert state_of(shop, job) is JobState.COMPLETED


def test_a_last_slot_of_a_schedule_that_came_meanwhile_leaves_the_job_to_the_run_that_goes_on(shop: Workshop) -> None:
    """Which was started by the schedule before."""
    executor = shop.executor()
    now = shop.clock.now()
    job = two_slots(shop, schedule=Every(interval_ms=MINUTE, anchor=now))
    shop.dispatch(job)
    live, _ = shop.begin(executor)
    other = At(instant=Instant(now + 5 * SECOND))
    changed = replace(job, schedule=other, generation=job.generation + 1, revision=job.revision + 1)
    shop.tables.jobs[job.job_key] = changed
    shop.clock.advance(5 * SECOND)
    last = shop.dispatch(changed, other.instant)
    shop.run_all(executor)
    assert (shop.run_of(last).status, state_of(shop, job)) == (RunStatus.SKIPPED, JobState.ACTIVE)

    executor.end(live, succeeded())
    executor.finish_once()

    assert state_of(shop, job) is JobState.COMPLETED


def test_a_run_asked_for_by_hand_completes_a_job_whose_only_slot_was_left_out_for_it(shop: Workshop) -> None:
    executor = shop.executor()
    job = shop.put_one_time(overlap="skip")
    shop.dispatch(job, Instant(shop.clock.now() - 1), kind=RunKind.MANUAL, is_single=True)
    live, _ = shop.begin(executor)
    shop.dispatch(job)
    shop.run_all(executor)
    assert state_of(shop, job) is JobState.ACTIVE

    executor.end(live, succeeded())
    executor.finish_once()

    assert state_of(shop, job) is JobState.COMPLETED


def test_of_two_runs_that_go_on_the_first_to_end_completes_nothing(shop: Workshop) -> None:
    """One runs, one is kept waiting, and the last slot is left out."""
    executor = shop.executor()
    now = shop.clock.now()
    schedule = Every(interval_ms=MINUTE, anchor=now, end_at=Instant(now + 2 * MINUTE))
    job = two_slots(shop, overlap="buffer_one", schedule=schedule)
    shop.dispatch(job)
    live, _ = shop.begin(executor)
    for _ in range(2):
        for _ in range(6):
            shop.clock.advance(10 * SECOND)
            executor.heartbeat_once()
        shop.dispatch(job)
        shop.run_all(executor)
    executor.end(live, succeeded())
    executor.finish_once()
    assert state_of(shop, job) is JobState.ACTIVE

    shop.clock.advance(5 * SECOND)
    shop.run_all(executor)

    assert [str(run.status) for run in shop.tables.runs.values()] == ["succeeded", "succeeded", "skipped"]
    assert state_of(shop, job) is JobState.COMPLETED


def test_a_last_slot_that_was_left_out_for_a_run_that_has_ended_by_now_completes_the_job(shop: Workshop) -> None:
    executor = shop.executor()
    job = two_slots(shop)
    first = shop.dispatch(job)
    live, _ = shop.begin(executor)
    shop.clock.advance(MINUTE)
    last = shop.dispatch(job)
    other = shop.executor()
    other.claim_once([each for each in shop.receive() if each.dispatch == last])
    shop.start_all(other)
    live.renew(trusted_until=10**9, renew_until=10**9)
    executor.end(live, succeeded())
    executor.finish_once()
    assert state_of(shop, job) is JobState.ACTIVE

    other.finish_once()

    assert shop.run_of(first).status is RunStatus.SUCCEEDED
    assert state_of(shop, job) is JobState.COMPLETED


def test_a_worker_that_dies_between_the_end_and_the_completion_is_replaced_by_the_duplicate(shop: Workshop) -> None:
    executor = shop.executor()
    job, _, live = last_slot_left_out(shop, executor)
    executor.end(live, succeeded())
    [(_, finish)] = executor.runs.take_ending(1)
    shop.run_store.finish([finish])
    assert state_of(shop, job) is JobState.ACTIVE

    shop.executor().claim_once(shop.deliver_again([live.delivery]))

    assert state_of(shop, job) is JobState.COMPLETED


def test_the_row_of_a_completed_job_stays_until_its_earlier_runs_may_be_over(shop: Workshop) -> None:
    job = two_slots(shop, overlap="allow", retry=RetryPolicy(max_attempts=5, max_age_ms=DAY))
    shop.clock.advance(MINUTE)
    shop.dispatch(job)

    shop.run_all(shop.executor())

    expires_at = shop.tables.jobs[job.job_key].expires_at
    assert expires_at is not None
    assert expires_at >= shop.clock.now() + DAY + job.timeout_ms


@pytest.mark.parametrize("overlap", ["skip", "allow"])
def test_a_run_goes_on_though_the_row_of_its_job_is_gone_and_its_places_with_it(shop: Workshop, overlap: str) -> None:
    executor = shop.executor()
    job = shop.put_job(overlap=overlap, max_concurrent=2 if overlap == "allow" else None, timeout_ms=HOUR)
    dispatch = shop.dispatch(job)
    live, call = shop.begin(executor)
    del shop.tables.jobs[job.job_key]

    shop.clock.advance(10 * SECOND)
    executor.heartbeat_once()
    assert not call.cancelled.is_set()
    executor.end(live, succeeded())
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert len(executor.runs) == 0


def test_a_job_made_anew_has_none_of_the_places_of_its_predecessor(shop: Workshop) -> None:
    executor = shop.executor()
    job = shop.put_job(overlap="skip", timeout_ms=HOUR)
    shop.dispatch(job)
    shop.begin(executor)
    del shop.tables.jobs[job.job_key]
    assert shop.job_store.write(JobWrite(replace(job, revision=1), None, put_entry=None)) == Written()

    shop.clock.advance(MINUTE)
    shop.dispatch(job, is_single=True)
    assert len(shop.begin_all(executor)) == 1
