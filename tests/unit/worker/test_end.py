"""End, finish and heartbeat: one end per run, written where the token is still ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryJobStore, MemoryRunStore
from shared.domain.errors import OutcomeUnknown, StoreThrottled
from shared.domain.instants import DAY, MINUTE, SECOND, Instant
from shared.domain.job import JobState
from shared.domain.limits import MAX_ERROR_LENGTH, MAX_OUTPUT_BYTES
from shared.domain.run import Finish, RunKind, RunStatus
from shared.domain.schedules import Every
from shared.ports import Completion, HeartbeatAnswer
from shared.ports.run_store import Heartbeat
from tests.unit.worker.workshop import Workshop


def test_a_failure_ends_failed_with_its_error_and_one_attempt(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.target.answer = lambda _: failed("http_5xx", "the host answered 503", output="sorry")

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.output, run.completion) == (RunStatus.FAILED, "sorry", None)
    assert run.error is not None
    assert (run.error.type, run.error.message) == ("http_5xx", "the host answered 503")
    [attempt] = run.attempts
    assert (attempt.attempt, attempt.started_at, attempt.ended_at) == (1, run.started_at, run.ended_at)
    assert attempt.error == run.error
    assert len(shop.queue) == 0


def test_a_target_that_breaks_fails_its_run_and_not_the_worker(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(target={"type": "recorded"}))
    other = shop.dispatch(shop.put_job("other", target={"type": "teleport"}))

    def broken(_: object) -> None:
        raise ZeroDivisionError

    shop.target.answer = broken  # type: ignore[assignment]
    shop.run_all(shop.executor())

    errors = [shop.run_of(key).error for key in (dispatch, other)]
    assert [error.type for error in errors if error] == ["ZeroDivisionError", "unknown_target"]


def test_a_long_output_is_cut_at_a_whole_character(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.target.answer = lambda _: succeeded("x" + "é" * MAX_OUTPUT_BYTES)

    shop.run_all(shop.executor())

    output = shop.run_of(dispatch).output
    assert output is not None
    assert len(output.encode()) == MAX_OUTPUT_BYTES - 1
    assert output.endswith("é")


def test_a_long_error_keeps_its_first_and_its_last_part(shop: Workshop) -> None:
    """B62."""
    dispatch = shop.dispatch(shop.put_job())
    shop.target.answer = lambda _: failed("E" * 1_000, "first" + "-" * 1_000_000 + "last")

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert len(run.error.message.encode()) <= MAX_ERROR_LENGTH
    assert run.error.message.startswith("first-")
    assert run.error.message.endswith("-last")
    [attempt] = run.attempts
    assert attempt.error is not None
    assert len(attempt.error.message) <= 512


def test_a_run_ends_timed_out_at_its_deadline_though_its_thread_goes_on(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=5 * SECOND))
    executor = shop.executor()
    shop.claim(executor)
    [live] = executor.start_due_once()
    call = executor.begin(live)
    assert call is not None
    assert call.deadline == shop.clock.now() + 5 * SECOND

    shop.clock.advance(5 * SECOND - 1)
    assert executor.expire_once() == []
    assert not call.cancelled.is_set()
    shop.clock.advance(1)
    assert executor.expire_once() == [live]
    assert call.cancelled.is_set()
    executor.finish_once()
    is_counted = executor.end(live, succeeded("too late"))
    executor.finish_once()

    assert not is_counted
    run = shop.run_of(dispatch)
    assert (run.status, run.output) == (RunStatus.TIMED_OUT, None)
    assert run.error is not None
    assert run.error.type == "timeout"
    assert run.ended_at == call.deadline
    assert len(shop.queue) == 0


def test_the_deadline_counts_from_the_start_by_elapsed_time(shop: Workshop) -> None:
    shop.dispatch(shop.put_job(timeout_ms=5 * SECOND))
    executor = shop.executor()
    shop.claim(executor)
    [live] = executor.start_due_once()
    executor.begin(live)

    shop.clock.step(MINUTE)

    assert executor.expire_once() == []


def test_a_run_that_ended_is_not_expired(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    executor = shop.executor()
    shop.run_all(executor)
    shop.clock.advance(MINUTE)

    assert executor.expire_once() == []
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_a_fenced_finish_is_counted_and_discarded_and_its_message_left_alone(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    first, second = shop.executor(), shop.executor()
    first.claim_once(shop.receive())
    [live] = first.start_due_once()
    call = first.begin(live)
    assert call is not None
    shop.clock.advance(3 * MINUTE)
    [again] = shop.receive()
    second.claim_once([again])

    first.end(live, succeeded("of the past"))
    first.finish_once()

    assert first.counts["fenced"] == 1
    assert len(first.runs) == 0
    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.output) == (RunStatus.RUNNING, 2, None)
    assert len(shop.queue) == 1

    shop.start_all(second)
    second.finish_once()
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert len(shop.queue) == 0


def test_a_refused_heartbeat_cancels_the_run_and_nothing_more_is_written(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    first, second = shop.executor(), shop.executor()
    first.claim_once(shop.receive())
    [live] = first.start_due_once()
    call = first.begin(live)
    assert call is not None
    shop.clock.advance(3 * MINUTE)
    second.claim_once(shop.receive())
    seen = shop.run_of(dispatch)

    first.heartbeat_once()

    assert call.cancelled.is_set()
    assert first.counts["fenced"] == 1
    assert not first.end(live, succeeded())
    assert first.finish_once() == 0
    assert shop.run_of(dispatch) == seen


def test_a_heartbeat_comes_every_third_of_the_lease_and_extends_lease_and_visibility(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    executor = shop.executor()
    shop.claim(executor)
    [live] = executor.start_due_once()
    call = executor.begin(live)
    assert call is not None
    claimed_until = shop.run_of(dispatch).lease_until

    shop.clock.advance(10 * SECOND - 1)
    executor.heartbeat_once()
    assert shop.run_of(dispatch).lease_until == claimed_until

    shop.clock.advance(1)
    call.report("half way")
    executor.heartbeat_once()
    run = shop.run_of(dispatch)
    assert run.lease_until == shop.clock.now() + shop.settings.lease_ms
    assert (run.progress, run.started_at) == ("half way", live.started_at)
    shop.clock.advance(30 * SECOND - 1)
    assert shop.receive() == []


def test_a_run_of_90_seconds_survives_on_a_lease_of_20(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, lease_ms=20 * SECOND)
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    executor, other = shop.executor(), shop.executor()
    shop.claim(executor)
    [live] = executor.start_due_once()
    executor.begin(live)
    for _ in range(90):
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
        assert shop.claim(other) == []

    executor.end(live, succeeded())
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert shop.run_of(dispatch).token == 1


def test_a_heartbeat_refused_because_the_end_was_stored_meanwhile_fences_nothing(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())

    class EndsFirst(MemoryRunStore):
        def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
            shop.start_all(executor)
            return [HeartbeatAnswer.FENCED for _ in beats]

    executor = shop.executor(run_store=EndsFirst(shop.tables))
    shop.claim(executor)
    shop.clock.advance(10 * SECOND)

    executor.heartbeat_once()
    executor.finish_once()

    assert executor.counts["fenced"] == 0
    assert len(shop.queue) == 0


class _Faulty(MemoryRunStore):
    """Applies the finish or not, and raises, as often as `faults` says."""

    faults: list[Exception]
    sizes: list[int]

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | None]:
        self.sizes.append(len(finishes))
        if self.faults:
            fault = self.faults.pop()
            if isinstance(fault, OutcomeUnknown):
                super().finish(finishes)
            raise fault
        return super().finish(finishes)


@pytest.mark.parametrize("fault", [StoreThrottled("finish", "too fast"), OutcomeUnknown("finish", "no answer")])
def test_a_finish_that_was_not_answered_is_stored_again_and_its_message_kept_until_then(
    shop: Workshop, fault: Exception
) -> None:
    dispatches = [shop.dispatch(shop.put_job(f"job-{number}")) for number in range(3)]
    store = _Faulty(shop.tables)
    store.faults, store.sizes = [fault], []
    executor = shop.executor(run_store=store)
    shop.claim(executor)
    shop.start_all(executor)

    with pytest.raises(type(fault)):
        executor.finish_once()
    assert len(shop.queue) == 3
    while executor.finish_once():
        pass

    assert [shop.run_of(dispatch).status for dispatch in dispatches] == [RunStatus.SUCCEEDED] * 3
    assert executor.counts["fenced"] == 0
    assert len(shop.queue) == 0
    assert store.sizes == [3, 1, 2], "alone after a fault, together again after a success"


def test_ends_are_stored_together(shop: Workshop) -> None:
    for number in range(5):
        shop.dispatch(shop.put_job(f"job-{number}"))
    store = _Faulty(shop.tables)
    store.faults, store.sizes = [], []

    shop.run_all(shop.executor(run_store=store))

    assert store.sizes == [5]


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


def test_a_run_row_outlives_every_queue(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)

    assert run.ended_at is not None
    assert run.expires_at == run.ended_at + 30 * DAY
    with pytest.raises(ValueError, match="retention"):
        replace(shop.settings, run_retention_ms=15 * DAY - 1).check()
