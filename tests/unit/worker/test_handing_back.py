"""What a worker that stops gives back: claimed, and not started (B58)."""

from __future__ import annotations

import pytest

from functions.worker.live_run import LiveRun
from functions.worker.targets import succeeded
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job
from shared.domain.run import RunStatus
from tests.unit.worker.workshop import Workshop


def test_another_worker_takes_it_at_once_as_the_same_attempt(shop: Workshop) -> None:
    first, second = shop.executor(), shop.executor()
    slot = Instant(shop.clock.now() + 200)
    dispatch = shop.dispatch(shop.put_job(early_ms=200), slot)
    [live] = shop.claim(first)

    assert first.hand_back_once() == 1
    first.finish_once()
    [taken] = shop.claim(second)
    shop.clock.advance(200)
    shop.start_all(second)
    second.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt, run.token, len(run.attempts)) == (RunStatus.SUCCEEDED, 1, 2, 1)
    assert run.worker_id != live.run.worker_id
    assert (taken.run.fire_at, run.drift and run.drift["total"]) == (slot, 0)
    assert len(shop.queue) == 0


def test_what_was_late_stays_as_late_as_it_was(shop: Workshop) -> None:
    first, second = shop.executor(), shop.executor()
    dispatch = shop.dispatch(shop.put_one_time())
    shop.claim(first)
    first.hand_back_once()
    first.finish_once()
    shop.clock.advance(700)

    shop.run_all(second)

    run = shop.run_of(dispatch)
    assert run.drift is not None
    assert run.drift["total"] == 700


def test_what_has_started_is_not_handed_back(shop: Workshop) -> None:
    executor = shop.executor()
    dispatch = shop.dispatch(shop.put_one_time())
    live, _ = shop.begin(executor)

    assert executor.hand_back_once() == 0
    executor.end(live, succeeded())
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_what_waits_for_a_thread_is_handed_back_and_does_not_start_here(shop: Workshop) -> None:
    executor = shop.executor()
    shop.dispatch(shop.put_job(overlap="skip"))
    shop.claim(executor)
    [live] = executor.start_due_once()

    assert executor.hand_back_once() == 1
    executor.execute(live)
    executor.finish_once()

    assert shop.target.calls == []
    assert [held for held in shop.tables.holders.values() if held] == []


def test_a_lease_that_another_worker_has_by_now_is_not_given_up(shop: Workshop) -> None:
    first, second = shop.executor(), shop.executor()
    dispatch = shop.dispatch(shop.put_one_time())
    shop.claim(first)
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + 1)
    [taken] = shop.claim(second)

    first.hand_back_once()
    first.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.token) == (RunStatus.RUNNING, taken.run.token)
    assert first.counts["fenced"] == 1


class Unreadable(MemoryJobStore):
    def get_many(self, job_keys: object) -> dict[str, Job]:
        raise StoreThrottled("jobs.get", f"on purpose: {job_keys}")


def test_a_run_whose_job_was_not_read_yet_is_handed_back_too(shop: Workshop) -> None:
    first = shop.executor(job_store=Unreadable(shop.tables))
    dispatch = shop.dispatch(shop.put_one_time())
    with pytest.raises(StoreThrottled):
        shop.claim(first)

    first.hand_back_once()
    first.finish_once()
    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_a_host_that_ends_too_soon_hands_back_what_it_cannot_start(shop: Workshop) -> None:
    executor = shop.executor(ends_until=shop.clock.monotonic() + 2)
    dispatch = shop.dispatch(shop.put_one_time())
    shop.claim(executor)
    [live] = executor.start_due_once()
    shop.clock.advance(3_000)

    assert executor.begin(live) is None
    executor.finish_once()
    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt) == (RunStatus.SUCCEEDED, 1)


def test_what_starts_while_the_worker_hands_back_is_not_handed_back(shop: Workshop) -> None:
    """The list of what has not begun is old as soon as it is made."""
    executor, other = shop.executor(), shop.executor()
    dispatch = shop.dispatch(shop.put_one_time())
    shop.claim(executor)
    [live] = executor.start_due_once()
    not_begun = executor.runs.not_begun

    def made_and_then_begun() -> list[LiveRun]:
        listed = not_begun()
        assert executor.begin(live) is not None
        return listed

    executor.runs.not_begun = made_and_then_begun  # type: ignore[method-assign]
    assert executor.hand_back_once() == 0
    executor.finish_once()

    shop.clock.advance(SECOND)
    assert shop.claim(other) == []
    executor.end(live, succeeded())
    executor.finish_once()
    run = shop.run_of(dispatch)
    assert (run.status, run.token) == (RunStatus.SUCCEEDED, 1)


def test_what_was_handed_back_while_it_took_its_place_does_not_start_and_leaves_the_place(shop: Workshop) -> None:
    class HandedBack(MemoryJobStore):
        def hold(self, *given: object, **named: object) -> object:  # type: ignore[override]
            answer = super().hold(*given, **named)  # type: ignore[arg-type]
            assert executor.hand_back_once() == 1
            executor.finish_once()
            return answer

    executor = shop.executor(job_store=HandedBack(shop.tables))
    shop.dispatch(shop.put_job(overlap="skip"))
    shop.claim(executor)
    shop.start_all(executor)

    assert shop.target.calls == []
    assert [held for held in shop.tables.holders.values() if held] == []


def test_a_host_that_ends_too_soon_starts_nothing_even_where_the_hand_back_came_first(shop: Workshop) -> None:
    executor = shop.executor(ends_until=shop.clock.monotonic() + 2)
    shop.dispatch(shop.put_one_time())
    shop.claim(executor)
    [live] = executor.start_due_once()
    shop.clock.advance(3_000)
    executor.hand_back_once()

    assert executor.begin(live) is None
    assert live.started_at is None
