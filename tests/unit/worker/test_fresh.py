"""What a run starts with was read a moment before, however long it was held or waited for a thread."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import pytest

from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryJobStore, MemoryTables
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job, JobState, RetryPolicy
from shared.domain.run import RunStatus
from tests.unit.worker.workshop import Workshop


class Counted(MemoryJobStore):
    """Remembers how many jobs each of its reads asked for."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.reads: list[int] = []
        self.refuses = False

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        if self.refuses:
            raise StoreThrottled("jobs.get_many", "on purpose")
        self.reads.append(len(job_keys))
        return super().get_many(job_keys)


@pytest.fixture
def store(shop: Workshop) -> Counted:
    return Counted(shop.tables)


def change(shop: Workshop, job: Job, **changes: object) -> None:
    now = shop.clock.now()
    changed = replace(
        shop.tables.jobs[job.job_key],
        generation=now,
        from_at=now,
        updated_at=now,
        revision=job.revision + 1,
        **changes,  # type: ignore[arg-type]
    )
    shop.tables.jobs[job.job_key] = changed


def handed_out(shop: Workshop, executor: Executor, count: int) -> list[Job]:
    """So many runs that wait for a thread."""
    jobs = [shop.put_job(f"job-{number}") for number in range(count)]
    for job in jobs:
        shop.dispatch(job)
    shop.claim(executor)
    return jobs


def test_a_run_that_waited_for_a_thread_starts_with_the_definition_as_it_is_then(shop: Workshop) -> None:
    executor = shop.executor()
    [job] = handed_out(shop, executor, 1)
    [live] = executor.start_due_once()
    shop.clock.advance(500)
    change(shop, job, payload="new")
    shop.clock.advance(SECOND)

    executor.execute(live)

    assert [call.payload for call in shop.target.calls] == ["new"]


def test_a_run_and_each_of_its_attempts_name_the_revision_that_they_started_with(shop: Workshop) -> None:
    answers = iter([failed("http_5xx", "503"), succeeded()])
    shop.target.answer = lambda _: next(answers)
    job = shop.put_job(retry=RetryPolicy(max_attempts=2, base_ms=0))
    dispatch = shop.dispatch(job)
    change(shop, job, payload="second")
    shop.run_all(shop.executor())
    assert shop.run_of(dispatch).revision == 2

    change(shop, shop.tables.jobs[job.job_key], payload="third")
    shop.clock.advance(SECOND)
    executor = shop.executor()
    live, _ = shop.begin(executor)
    live.renew_now(shop.clock.monotonic())
    executor.heartbeat_once()
    assert shop.run_of(dispatch).revision == 3
    executor.end(live, succeeded())
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.revision, [each.revision for each in run.attempts]) == (3, [2, 3])


@pytest.mark.parametrize(
    ("state", "status"), [(JobState.PAUSED, RunStatus.SKIPPED), (JobState.CANCELLED, RunStatus.CANCELLED)]
)
def test_a_run_that_waited_for_a_thread_obeys_a_pause_and_a_delete(
    shop: Workshop, state: JobState, status: RunStatus
) -> None:
    executor = shop.executor()
    job = shop.put_job(overlap="skip")
    dispatch = shop.dispatch(job)
    shop.claim(executor)
    [live] = executor.start_due_once()
    change(shop, job, state=state)
    shop.clock.advance(SECOND + 1)

    executor.execute(live)
    executor.finish_once()

    assert shop.target.calls == []
    assert shop.run_of(dispatch).status is status
    assert [held for held in shop.tables.holders.values() if held] == []


def test_those_that_wait_are_read_again_together_and_once(shop: Workshop, store: Counted) -> None:
    executor = shop.executor(job_store=store)
    handed_out(shop, executor, 8)
    waiting = executor.start_due_once()
    shop.clock.advance(SECOND + 1)

    for live in waiting:
        executor.execute(live)

    assert store.reads == [8, 8]
    assert len(shop.target.calls) == 8


def test_what_is_read_is_fresh_for_a_second_and_not_longer(shop: Workshop, store: Counted) -> None:
    executor = shop.executor(job_store=store)
    handed_out(shop, executor, 2)
    first, second = executor.start_due_once()
    shop.clock.advance(SECOND)
    executor.execute(first)
    assert len(store.reads) == 1

    shop.clock.advance(1)
    executor.execute(second)
    assert len(store.reads) == 2


def test_a_run_that_cannot_be_read_again_starts_nothing_and_is_tried_again(shop: Workshop, store: Counted) -> None:
    executor = shop.executor(job_store=store)
    handed_out(shop, executor, 1)
    [live] = executor.start_due_once()
    shop.clock.advance(SECOND + 1)
    store.refuses = True
    executor.execute(live)
    assert shop.target.calls == []

    store.refuses = False
    shop.clock.advance(SECOND)
    shop.start_all(executor)
    assert len(shop.target.calls) == 1


def test_a_place_that_took_long_has_the_job_read_again_and_keeps_the_place(shop: Workshop) -> None:
    job = shop.put_job(overlap="skip")

    class Slow(MemoryJobStore):
        waits: Iterator[int] = iter([2 * SECOND])

        def hold(self, *given: object, **named: object) -> tuple[()]:
            shop.clock.advance(next(self.waits))
            change(shop, job, payload="new")
            return super().hold(*given, **named)  # type: ignore[arg-type, return-value]

    executor = shop.executor(job_store=Slow(shop.tables))
    shop.dispatch(job)
    shop.claim(executor)
    shop.start_all(executor)
    assert shop.target.calls == []

    shop.start_all(executor)

    assert [call.payload for call in shop.target.calls] == ["new"]


def test_a_run_that_is_held_long_is_read_again_before_its_time_and_needs_no_read_then(
    shop: Workshop, store: Counted
) -> None:
    shop.settings = WorkerSettings(longest_lead_ms=5 * SECOND)
    executor = shop.executor(job_store=store)
    slot = Instant(shop.clock.now() + 5 * SECOND)
    job = shop.put_job(early_ms=5 * SECOND)
    shop.dispatch(job, slot)
    shop.claim(executor)
    change(shop, job, payload="new")
    for _ in range(5):
        shop.clock.advance(SECOND)
        executor.read_once()
    before_start = list(store.reads)

    shop.start_all(executor)

    assert [call.payload for call in shop.target.calls] == ["new"]
    assert store.reads == before_start == [1, 1]
