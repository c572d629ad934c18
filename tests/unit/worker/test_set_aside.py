"""What the store will not take hurts one run alone: it is named, counted, and ends or comes again; the others go on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import pytest

from functions.worker.executor import Executor
from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryRunStore
from shared.domain.entry import Entry
from shared.domain.errors import ItemRefused, OutcomeUnknown, StoreError
from shared.domain.instants import MINUTE, SECOND
from shared.domain.job import RetryPolicy
from shared.domain.limits import MAX_PROGRESS_BYTES
from shared.domain.run import Finish, Run, RunStatus
from shared.ports.run_store import Heartbeat, HeartbeatAnswer
from tests.unit.worker.workshop import Workshop

BAD = "owner/bad"


class Picky(MemoryRunStore):
    """Takes nothing of job `bad` that `refuses` says."""

    refuses_claims = False
    refuses_beats = False
    refuses_ends = False
    #: Only ends that say what the run left.
    refuses_output = False
    error: StoreError = ItemRefused("test", "Item size has exceeded the maximum allowed size")

    def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
        answers: list[Run | StoreError | None] = []
        for run in runs:
            is_refused = self.refuses_claims and run.job_key == BAD
            answers.extend([self.error] if is_refused else super().insert([run]))
        return answers

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        answers: list[HeartbeatAnswer] = []
        for beat in beats:
            is_refused = self.refuses_beats and beat.key.job_key == BAD
            answers.extend([HeartbeatAnswer.FAILED] if is_refused else super().heartbeat([beat]))
        return answers

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        answers: list[RunStatus | StoreError | None] = []
        for finish in finishes:
            answers.extend([self.error] if self._refuses(finish) else super().finish([finish]))
        return answers

    def _refuses(self, finish: Finish) -> bool:
        is_full = finish.output is not None or bool(finish.attempts)
        return finish.key.job_key == BAD and (self.refuses_ends or (self.refuses_output and is_full))

    def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
        if self.refuses_ends and finish.key.job_key == BAD:
            raise self.error
        return super().postpone(finish, entry)


@pytest.fixture
def picky(shop: Workshop) -> Picky:
    return Picky(shop.tables)


def dispatch_three(shop: Workshop) -> None:
    for name in ("good-1", "bad", "good-2"):
        shop.dispatch(shop.put_job(name, timeout_ms=10 * MINUTE))


def rows(shop: Workshop) -> dict[str, Run]:
    return {key.job_key.removeprefix("owner/"): run for key, run in shop.tables.runs.items()}


def finish_all(executor: Executor) -> None:
    """As a host does, which goes on after a failure."""
    for _ in range(6):
        with suppress(StoreError):
            executor.finish_once()


def begin_all(shop: Workshop, executor: Executor) -> dict[str, object]:
    shop.claim(executor)
    return {live.run.job_key: executor.begin(live) for live in executor.start_due_once()}


def test_a_claim_that_the_store_will_not_take_costs_the_others_of_its_batch_nothing(
    shop: Workshop, picky: Picky
) -> None:
    dispatch_three(shop)
    picky.refuses_claims = True
    executor = shop.executor(run_store=picky)

    shop.run_all(executor)

    assert {name: (run.status, run.token, run.attempt) for name, run in rows(shop).items()} == {
        "good-1": (RunStatus.SUCCEEDED, 1, 1),
        "good-2": (RunStatus.SUCCEEDED, 1, 1),
    }
    assert len(shop.queue) == 1
    assert executor.measured()["set_aside"] == 1

    shop.clock.advance(shop.settings.lease_ms)
    picky.refuses_claims = False
    shop.run_all(executor)
    assert rows(shop)["bad"].status is RunStatus.SUCCEEDED


def test_a_claim_without_an_answer_of_its_own_is_asked_again(shop: Workshop) -> None:
    class Silent(Picky):
        def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
            answers = super().insert(runs)
            return [OutcomeUnknown("insert", "lost") if len(runs) > 1 else answer for answer in answers]

    dispatch_three(shop)
    executor = shop.executor(run_store=Silent(shop.tables))

    shop.run_all(executor)

    assert {run.attempt for run in rows(shop).values()} == {1}
    assert {run.status for run in rows(shop).values()} == {RunStatus.SUCCEEDED}


@pytest.mark.parametrize("progress", [50, "\ud800", "x" * 500_000, None, {"done": 1}])
def test_whatever_a_handler_says_of_its_progress_its_heartbeat_can_store_it(shop: Workshop, progress: object) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    executor = shop.executor()
    _, call = shop.begin(executor)

    call.report(progress)  # type: ignore[arg-type]
    shop.clock.advance(shop.settings.lease_ms // 3)
    executor.heartbeat_once()

    stored = shop.run_of(dispatch).progress
    assert stored is not None
    assert 0 < len(stored.encode()) <= MAX_PROGRESS_BYTES


def test_a_heartbeat_that_fails_for_one_run_renews_the_others_and_is_tried_again(shop: Workshop, picky: Picky) -> None:
    dispatch_three(shop)
    executor = shop.executor(run_store=picky)
    begin_all(shop, executor)
    picky.refuses_beats = True

    for _ in range(20):
        shop.clock.advance(5 * SECOND)
        executor.heartbeat_once()

    renewed = {name for name, run in rows(shop).items() if run.lease_until > shop.clock.now()}
    assert renewed == {"good-1", "good-2"}
    assert executor.counts["fenced"] == 0
    assert executor.counts["set_aside"] > 1

    picky.refuses_beats = False
    executor.heartbeat_once()
    assert rows(shop)["bad"].lease_until > shop.clock.now()


def test_an_end_that_the_store_will_not_take_does_not_hold_up_the_others_and_is_stored_without_its_output(
    shop: Workshop, picky: Picky
) -> None:
    dispatch_three(shop)
    shop.target.answer = lambda _: succeeded("the whole result")
    picky.refuses_output = True
    executor = shop.executor(run_store=picky)

    shop.run_all(executor)
    assert {name for name, run in rows(shop).items() if run.output} == {"good-1", "good-2"}

    executor.finish_once()
    bad = rows(shop)["bad"]
    assert (bad.status, bad.output) == (RunStatus.SUCCEEDED, None)
    assert bad.error is not None
    assert bad.error.type == "not_stored"
    assert "maximum allowed size" in bad.error.message
    assert len(executor.runs) == 0
    assert len(shop.queue) == 0


def test_what_is_not_even_taken_then_is_left_to_its_lease(shop: Workshop, picky: Picky) -> None:
    dispatch_three(shop)
    picky.refuses_ends = True
    executor = shop.executor(run_store=picky)
    shop.run_all(executor)

    executor.finish_once()

    assert len(executor.runs) == 0
    assert rows(shop)["bad"].status is RunStatus.RUNNING
    assert len(shop.queue) == 1


def test_an_end_without_an_answer_is_stored_again_as_it_is(shop: Workshop, picky: Picky) -> None:
    dispatch_three(shop)
    shop.target.answer = lambda _: succeeded("the whole result")
    picky.refuses_ends, picky.error = True, OutcomeUnknown("finish", "lost")
    executor = shop.executor(run_store=picky)
    shop.run_all(executor)
    finish_all(executor)
    assert {name for name, run in rows(shop).items() if run.output} == {"good-1", "good-2"}
    picky.refuses_ends = False

    executor.finish_once()

    assert {run.output for run in rows(shop).values()} == {"the whole result"}
    assert len(shop.queue) == 0


def test_a_long_wait_that_cannot_be_stored_does_not_hold_up_the_others(shop: Workshop, picky: Picky) -> None:
    policy = RetryPolicy(max_attempts=3, base_ms=10 * MINUTE, cap_ms=10 * MINUTE)
    for name in ("good-1", "bad", "good-2"):
        shop.dispatch(shop.put_job(name, retry=policy))
    shop.target.answer = lambda _: failed("http_503", "busy")
    picky.refuses_ends, picky.error = True, OutcomeUnknown("postpone", "lost")
    executor = shop.executor(run_store=picky)
    shop.run_all(executor)
    finish_all(executor)

    assert {name for name, run in rows(shop).items() if run.status is RunStatus.WAITING} == {"good-1", "good-2"}

    picky.refuses_ends = False
    executor.finish_once()
    assert rows(shop)["bad"].status is RunStatus.WAITING


def test_a_message_that_breaks_the_claim_itself_keeps_the_others(shop: Workshop) -> None:
    class Breaking(MemoryRunStore):
        def take_over(self, run: Run, *, seen: Run) -> Run | None:
            if run.job_key == BAD:
                raise ValueError("no row of ours")
            return super().take_over(run, seen=seen)

    dispatch_three(shop)
    shop.claim(shop.executor())
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)
    executor = shop.executor(run_store=Breaking(shop.tables))

    shop.run_all(executor)

    assert {name for name, run in rows(shop).items() if run.status is RunStatus.SUCCEEDED} == {"good-1", "good-2"}
    assert executor.counts["set_aside"] == 1
