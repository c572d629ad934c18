"""The last slot of a schedule completes its job, though a worker may die in between."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from functions.worker.targets import failed
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import DAY, MINUTE, Instant
from shared.domain.job import JobState
from shared.domain.run import RunKind
from shared.domain.schedules import Every
from shared.ports import Completion
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
