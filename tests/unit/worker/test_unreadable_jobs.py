"""A job that this worker cannot read or judge hurts only its own run, which waits for a worker that can."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import MessageUnreadable
from shared.domain.instants import HOUR, MINUTE, SECOND
from shared.domain.job import Job
from shared.domain.overlap import Holder
from shared.domain.run import RunStatus
from shared.domain.schedules import Cron
from tests.unit.worker.workshop import Workshop

POISON = "owner/poison"


class NewerRow(MemoryJobStore):
    """One of its rows was written by a later version."""

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        if POISON in job_keys:
            raise MessageUnreadable("schedule of an unknown version", version=2)
        return super().get_many(job_keys)


def test_the_others_of_the_batch_run_and_the_run_of_the_unreadable_job_waits(shop: Workshop) -> None:
    executor = shop.executor(job_store=NewerRow(shop.tables))
    poisoned = shop.dispatch(shop.put_job("poison"))
    sound = [shop.dispatch(shop.put_job(f"job-{number}")) for number in range(4)]

    shop.run_all(executor)

    assert {shop.run_of(each).status for each in sound} == {RunStatus.SUCCEEDED}
    waiting = shop.run_of(poisoned)
    assert (waiting.status, waiting.reason, waiting.attempt) == (RunStatus.WAITING, "unreadable_job", 1)
    assert executor.measured()["set_aside"] == 1
    assert len(executor.runs) == 0


def test_a_worker_that_can_read_it_runs_it_as_the_same_attempt(shop: Workshop) -> None:
    poisoned = shop.dispatch(shop.put_job("poison"))
    shop.run_all(shop.executor(job_store=NewerRow(shop.tables)))
    shop.clock.advance(MINUTE)
    newer = shop.executor()

    shop.run_all(newer)
    shop.clock.advance(SECOND)
    shop.start_all(newer)
    newer.finish_once()

    run = shop.run_of(poisoned)
    assert (run.status, run.attempt, len(run.attempts)) == (RunStatus.SUCCEEDED, 1, 1)


@pytest.mark.parametrize("is_judged", [True, False])
def test_where_no_worker_can_it_fails_with_its_reason_and_a_dead_letter(shop: Workshop, *, is_judged: bool) -> None:
    schedule = shop.put_job().schedule if is_judged else Cron(expression="0 0 * * *", timezone="No/Such_Zone")
    poisoned = shop.dispatch(shop.put_job("poison", schedule=schedule))
    executor = shop.executor(job_store=NewerRow(shop.tables) if is_judged else shop.job_store)

    for _ in range(HOUR // (10 * SECOND)):
        shop.run_all(executor)
        shop.clock.advance(10 * SECOND)
        executor.read_once()
        executor.heartbeat_once()

    run = shop.run_of(poisoned)
    assert run.status is RunStatus.FAILED
    assert run.error is not None
    assert run.error.type == "unreadable_job"
    assert (run.attempt, run.attempts) == (1, ())
    assert [letter.cause for letter in shop.dead_letters.letters] == ["unreadable_job"]
    assert len(shop.queue) == 0
    assert shop.target.calls == []


def test_a_duplicate_of_an_unreadable_job_keeps_its_message_and_the_other_duplicates_go(shop: Workshop) -> None:
    dispatches = [shop.dispatch(shop.put_job(job_id)) for job_id in ("poison", "job")]
    deliveries = shop.receive()
    first = shop.executor()
    first.claim_once(deliveries)
    shop.start_all(first)
    [*ends] = first.runs.take_ending(10)
    shop.run_store.finish([finish for _, finish in ends])

    shop.executor(job_store=NewerRow(shop.tables)).claim_once(deliveries)

    assert {shop.run_of(each).status for each in dispatches} == {RunStatus.SUCCEEDED}
    assert len(shop.queue) == 1


def test_a_place_that_cannot_be_read_sets_the_run_aside_and_leaves_no_lease_that_is_renewed_for_ever(
    shop: Workshop,
) -> None:
    class Broken(MemoryJobStore):
        def hold(self, *given: object, **named: object) -> tuple[Holder, ...]:
            raise KeyError(f"lease_until of {given} {named}")

    dispatch = shop.dispatch(shop.put_job(overlap="skip"))
    executor = shop.executor(job_store=Broken(shop.tables))

    shop.run_all(executor)

    assert (shop.run_of(dispatch).status, shop.run_of(dispatch).reason) == (RunStatus.WAITING, "unreadable_job")
    assert len(executor.runs) == 0


def test_a_payload_that_cannot_be_read_fails_the_run_that_has_started_and_not_at_its_deadline(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(), is_single=True)
    now = shop.clock.now()
    waiting = replace(dispatch.row(RunStatus.WAITING), token=0, payload_json="{", lease_until=now)
    shop.tables.put_run(waiting, now)

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.error and run.error.type) == (RunStatus.FAILED, "unreadable_job")
