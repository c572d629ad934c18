"""End and finish: one end per run, written where the token is still ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryRunStore
from shared.domain.errors import OutcomeUnknown, StoreError, StoreThrottled
from shared.domain.instants import DAY, MINUTE, SECOND
from shared.domain.limits import MAX_ERROR_LENGTH, MAX_OUTPUT_BYTES
from shared.domain.run import Finish, RunStatus
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
    live, call = shop.begin(executor)
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
    shop.begin(executor)

    shop.clock.step(MINUTE)

    assert executor.expire_once() == []


def test_a_run_that_ended_is_not_expired(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    executor = shop.executor()
    shop.run_all(executor)
    shop.clock.advance(MINUTE)

    assert executor.expire_once() == []
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


class _Faulty(MemoryRunStore):
    """Applies the finish or not, and raises, as often as `faults` says."""

    faults: list[Exception]
    sizes: list[int]

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
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


def test_a_run_row_outlives_every_queue(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)

    assert run.ended_at is not None
    assert run.expires_at == run.ended_at + 30 * DAY
    with pytest.raises(ValueError, match="retention"):
        replace(shop.settings, run_retention_ms=15 * DAY - 1).check()
