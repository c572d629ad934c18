"""A run is cancelled while a worker has it (B41)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryRunStore
from shared.domain.instants import DAY, SECOND, Instant
from shared.domain.job import JobState, RetryPolicy
from shared.domain.keys import EntryKey, announced_id, schedule_name
from shared.domain.message import Dispatch
from shared.domain.run import Run, RunStatus
from shared.ports import HeartbeatAnswer
from shared.ports.run_store import Heartbeat
from tests.unit.worker.workshop import Workshop


def cancel(shop: Workshop, dispatch: Dispatch) -> Run:
    now = shop.clock.now()
    row = shop.run_store.request_cancel(dispatch.key, at=now, expires_at=Instant(now + 30 * DAY))
    assert row is not None
    return row


@pytest.mark.parametrize("answer", [succeeded("done"), failed("http_5xx", "503")])
def test_a_running_handler_hears_of_it_within_a_heartbeat_and_the_history_keeps_both_facts(
    shop: Workshop, answer: object
) -> None:
    dispatch = shop.dispatch(shop.put_one_time(retry=RetryPolicy(max_attempts=9)))
    executor = shop.executor()
    live, call = shop.begin(executor)
    requested_at = cancel(shop, dispatch).cancel_requested_at

    shop.clock.advance(shop.settings.lease_ms // 3)
    executor.heartbeat_once()
    assert call.cancelled.is_set()
    assert len(executor.runs) == 1
    shop.clock.advance(SECOND)
    executor.end(live, answer)  # type: ignore[arg-type]
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.reason) == (RunStatus.CANCELLED, "cancelled")
    assert (run.cancel_requested_at, run.ended_at) == (requested_at, shop.clock.now())
    assert shop.tables.jobs[dispatch.job_key].state is JobState.COMPLETED
    assert shop.dead_letters.letters == []
    assert len(shop.queue) == 0


def test_a_run_that_ends_before_its_heartbeat_is_cancelled_all_the_same(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    executor = shop.executor()
    shop.claim(executor)
    cancel(shop, dispatch)
    shop.start_all(executor)
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.CANCELLED
    assert len(shop.queue) == 0


def test_a_held_run_ends_without_a_start(shop: Workshop) -> None:
    job = shop.put_job(early_ms=shop.settings.lead_ms)
    dispatch = shop.dispatch(job, Instant(shop.clock.now() + shop.settings.lead_ms))
    executor = shop.executor()
    [live] = shop.claim(executor)
    live.renew_now(shop.clock.monotonic())
    cancel(shop, dispatch)

    executor.heartbeat_once()
    shop.clock.advance(SECOND)
    assert executor.start_due_once() == []
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.CANCELLED
    assert shop.target.calls == []


def test_a_run_that_starts_while_its_heartbeat_hears_of_the_cancel_is_not_said_to_have_never_started(
    shop: Workshop,
) -> None:
    dispatch = shop.dispatch(shop.put_one_time())

    class Meanwhile(MemoryRunStore):
        def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
            answers = super().heartbeat(beats)
            assert executor.begin(live) is not None
            return answers

    executor = shop.executor(run_store=Meanwhile(shop.tables))
    shop.claim(executor)
    [live] = executor.start_due_once()
    cancel(shop, dispatch)
    live.renew_now(shop.clock.monotonic())
    executor.heartbeat_once()
    assert live.cancelled.is_set()
    assert live.finish is None

    started_at = shop.clock.now()
    shop.clock.advance(SECOND)
    executor.end(live, succeeded())
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.started_at, len(run.attempts)) == (RunStatus.CANCELLED, started_at, 1)


def test_a_cancelled_run_whose_worker_died_is_not_started_again(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.claim(shop.executor())
    requested_at = cancel(shop, dispatch).cancel_requested_at

    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)
    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.cancel_requested_at) == (RunStatus.CANCELLED, requested_at)
    assert shop.target.calls == []


def test_a_waiting_run_is_over_and_its_message_a_duplicate(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_one_time(retry=RetryPolicy(max_attempts=2, base_ms=0)))
    shop.target.answer = lambda _: failed("http_5xx", "503")
    shop.run_all(shop.executor())
    assert cancel(shop, dispatch).status is RunStatus.CANCELLED

    shop.clock.advance(SECOND)
    shop.run_all(shop.executor())

    assert len(shop.target.calls) == 1
    assert shop.run_of(dispatch).status is RunStatus.CANCELLED
    assert shop.tables.jobs[dispatch.job_key].state is JobState.COMPLETED
    assert len(shop.queue) == 0


def test_a_slot_cancelled_by_somebody_stays_so_when_the_job_changes(shop: Workshop) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    executor = shop.executor()
    shop.claim(executor)
    cancel(shop, dispatch)
    shop.start_all(executor)
    executor.finish_once()
    shop.tables.jobs[job.job_key] = replace(job, generation=job.generation + 1)

    shop.dispatch(shop.tables.jobs[job.job_key], dispatch.slot)
    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.CANCELLED


def test_an_entry_without_a_job_is_deleted_by_the_claim_that_finds_none(shop: Workshop) -> None:
    job = shop.put_job()
    key = EntryKey(0, announced_id(7, schedule_name(job.job_key, job.generation)))
    dispatch = shop.dispatch(job, entry_id=key.entry_id)
    del shop.tables.jobs[job.job_key]
    deleted: list[EntryKey] = []
    shop.entry_store.delete = deleted.extend  # type: ignore[method-assign, assignment]

    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.CANCELLED
    assert deleted == [key, key.parked]
