"""A run that has begun is never skipped: it goes on by its policy, or ends with its attempts and their times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions.worker.places import RUN_PLACE_KEPT_MS
from functions.worker.targets import failed, succeeded
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import JobState, RetryPolicy, next_generation
from shared.domain.message import Dispatch
from shared.domain.run import Run, RunStatus
from tests.unit.worker.workshop import Workshop

RETRIES = RetryPolicy(max_attempts=3, base_ms=0)


def change(shop: Workshop, **changes: object) -> None:
    """Of the one job, written by the API now."""
    [(key, job)] = shop.tables.jobs.items()
    now = shop.clock.now()
    shop.tables.jobs[key] = replace(
        job,
        generation=next_generation(job.generation, now),
        from_at=now,
        updated_at=now,
        revision=job.revision + 1,
        **changes,  # type: ignore[arg-type]
    )


def lapse(shop: Workshop) -> None:
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)


def ended(shop: Workshop, dispatch: Dispatch) -> tuple[RunStatus, int, list[bool]]:
    """Status, attempt, and of each attempt whether its start is known."""
    run = shop.run_of(dispatch)
    return run.status, run.attempt, [each.started_at is not None for each in run.attempts]


def first_attempt_failed(shop: Workshop) -> Dispatch:
    shop.target.answer = lambda _: failed("http_5xx", "503")
    dispatch = shop.dispatch(shop.put_job(retry=RETRIES))
    shop.run_all(shop.executor())
    shop.target.answer = lambda _: succeeded()
    return dispatch


def test_a_retry_that_falls_into_a_pause_is_made(shop: Workshop) -> None:
    dispatch = first_attempt_failed(shop)
    change(shop, state=JobState.PAUSED)
    shop.clock.advance(SECOND)

    shop.run_all(shop.executor())

    assert ended(shop, dispatch) == (RunStatus.SUCCEEDED, 2, [True, True])


def test_a_retry_that_comes_from_an_entry_is_made_in_a_pause_too(shop: Workshop) -> None:
    dispatch = first_attempt_failed(shop)
    change(shop, state=JobState.PAUSED)
    shop.queue.delete(shop.receive())
    [job] = shop.tables.jobs.values()
    shop.clock.advance(SECOND)
    shop.dispatch(job, dispatch.slot, is_single=True, attempt=2)

    shop.run_all(shop.executor())

    assert ended(shop, dispatch) == (RunStatus.SUCCEEDED, 2, [True, True])


def test_a_slot_that_falls_into_a_pause_is_skipped(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    change(shop, state=JobState.PAUSED)

    shop.run_all(shop.executor())

    assert ended(shop, dispatch) == (RunStatus.SKIPPED, 1, [])


@pytest.mark.parametrize("is_noticed", [True, False], ids=["after a heartbeat", "before any"])
def test_a_run_whose_worker_died_before_the_pause_is_tried_again(shop: Workshop, *, is_noticed: bool) -> None:
    """Its target was called, whether or not the row says so."""
    dispatch = shop.dispatch(shop.put_job(retry=RETRIES))
    dead = shop.executor()
    shop.begin(dead)
    shop.clock.advance(shop.settings.lease_ms // 2)
    if is_noticed:
        dead.heartbeat_once()
    change(shop, state=JobState.PAUSED)
    lapse(shop)

    shop.run_all(shop.executor())

    assert ended(shop, dispatch) == (RunStatus.SUCCEEDED, 2, [is_noticed, True])


def test_a_run_that_was_claimed_after_the_pause_never_began_though_its_worker_died(shop: Workshop) -> None:
    """No worker starts what it has read, and it reads after its claim."""
    dispatch = shop.dispatch(shop.put_job(retry=RETRIES))
    change(shop, state=JobState.PAUSED)
    shop.clock.advance(shop.settings.clock_bound_ms + 1)
    dead = shop.executor()
    dead._claims.claim(shop.receive())
    lapse(shop)

    shop.run_all(shop.executor())

    assert ended(shop, dispatch) == (RunStatus.SKIPPED, 2, [False])
    assert shop.target.calls == []


def test_a_run_between_its_attempts_is_cancelled_with_its_attempt_its_start_and_its_revision(shop: Workshop) -> None:
    dispatch = first_attempt_failed(shop)
    started_at = shop.clock.now()
    change(shop, state=JobState.CANCELLED)
    shop.clock.advance(SECOND)

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.reason, len(run.attempts)) == (RunStatus.CANCELLED, "cancelled", 1)
    assert (run.started_at, run.revision, run.drift) == (started_at, 1, None)


def test_a_run_whose_workers_die_one_after_the_other_fails_with_the_start_that_is_known(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(retry=RetryPolicy(max_attempts=1)))
    started_at = shop.clock.now()
    for _ in range(3):
        executor = shop.executor()
        shop.claim(executor)
        for live in executor.start_due_once():
            executor.begin(live)
        shop.clock.advance(shop.settings.lease_ms // 2)
        executor.heartbeat_once()
        lapse(shop)
    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.error and run.error.type) == (RunStatus.FAILED, "lost")
    assert run.attempts[0].started_at == started_at
    assert run.started_at == run.attempts[-1].started_at


def next_slot(shop: Workshop) -> Dispatch:
    [job] = shop.tables.jobs.values()
    shop.clock.advance(7)
    return shop.dispatch(job, is_single=True)


def claimed_alone(shop: Workshop, dispatch: Dispatch) -> Run:
    """By a worker that is given this message and not the one of the dead run."""
    executor = shop.executor()
    executor.claim_once([each for each in shop.receive() if each.dispatch == dispatch])
    shop.start_all(executor)
    executor.finish_once()
    return shop.run_of(dispatch)


@pytest.mark.parametrize(
    ("overlap", "status"),
    [("skip", RunStatus.SKIPPED), ("buffer_one", RunStatus.WAITING), ("allow", RunStatus.WAITING)],
)
def test_the_place_of_a_dead_holder_belongs_to_its_run_until_that_run_ends(
    shop: Workshop, overlap: str, status: RunStatus
) -> None:
    maximum = 1 if overlap == "allow" else None
    first = shop.dispatch(shop.put_job(overlap=overlap, max_concurrent=maximum, retry=RETRIES))
    shop.begin(shop.executor())
    lapse(shop)

    later = claimed_alone(shop, next_slot(shop))
    assert (later.status, later.reason) == (status, "overlap")
    assert len(shop.target.calls) == 0

    shop.clock.advance(MINUTE)
    shop.run_all(shop.executor())
    assert ended(shop, first) == (RunStatus.SUCCEEDED, 2, [False, True])


def test_a_run_that_fell_silent_for_longer_than_its_message_lives_blocks_nobody(shop: Workshop) -> None:
    shop.dispatch(shop.put_job(overlap="skip"))
    shop.begin(shop.executor())
    lapse(shop)
    shop.clock.advance(RUN_PLACE_KEPT_MS)

    assert claimed_alone(shop, next_slot(shop)).status is RunStatus.SUCCEEDED


def test_a_limit_gives_the_place_of_a_run_that_ended_without_leaving_it_to_the_next(shop: Workshop) -> None:
    first = shop.dispatch(shop.put_job(max_concurrent=1))
    live, _ = shop.begin(shop.executor())
    shop.run_store.request_cancel(first.key, at=shop.clock.now(), expires_at=Instant(0))
    row = shop.run_of(first)
    shop.tables.put_run(replace(row, status=RunStatus.CANCELLED), None)
    assert live.hold is not None
    lapse(shop)

    assert claimed_alone(shop, next_slot(shop)).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "cancel_other"])
def test_a_run_that_has_begun_waits_for_a_place_that_another_has_and_is_not_skipped(
    shop: Workshop, overlap: str
) -> None:
    """The job counted nobody when it began."""
    first = first_attempt_failed(shop)
    change(shop, overlap=overlap)
    executor = shop.executor()
    second = next_slot(shop)
    executor.claim_once([each for each in shop.receive() if each.dispatch == second])
    [live] = executor.start_due_once()
    assert executor.begin(live) is not None
    shop.clock.advance(shop.settings.lease_ms + SECOND)
    executor.heartbeat_once()

    other = shop.executor()
    shop.run_all(other)
    assert shop.run_of(first).status is RunStatus.WAITING

    executor.end(live, succeeded())
    executor.finish_once()
    shop.clock.advance(10 * SECOND)
    shop.run_all(other)
    shop.start_all(other)
    other.finish_once()
    assert ended(shop, first) == (RunStatus.SUCCEEDED, 2, [True, True])
