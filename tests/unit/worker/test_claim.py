"""Claim: whose run a message is, and what becomes of the message."""

from __future__ import annotations

from dataclasses import replace

from shared.adapters.memory import MemoryRunStore
from shared.domain.errors import OutcomeUnknown, StoreError
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.run import Run, RunStatus
from tests.unit.worker.workshop import Workshop


def test_a_slot_runs_once_and_its_message_is_deleted(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt, run.worker_id) == (RunStatus.SUCCEEDED, 1, 1, "worker-1")
    assert run.completion == "done"
    assert len(shop.target.calls) == 1
    assert len(shop.queue) == 0


def test_one_message_delivered_to_five_workers_at_once_and_again_later_runs_once(shop: Workshop) -> None:
    """B56."""
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    deliveries = shop.receive()
    workers = [shop.executor() for _ in range(5)]

    for worker in workers:
        worker.claim_once(shop.deliver_again(deliveries))
    for worker in workers:
        shop.start_all(worker)
        worker.finish_once()
    workers[1].claim_once(shop.deliver_again(deliveries))
    shop.clock.advance(10 * MINUTE)
    workers[2].claim_once(shop.deliver_again(deliveries))
    for worker in workers:
        shop.start_all(worker)

    assert len(shop.target.calls) == 1
    assert shop.run_of(dispatch).token == 1
    assert [worker.counts["duplicate"] for worker in workers] == [0, 1, 1, 0, 0]


def test_a_message_twice_in_one_batch_runs_once(shop: Workshop) -> None:
    job = shop.put_job()
    shop.dispatch(job)
    shop.dispatch(job)
    executor = shop.executor()

    shop.run_all(executor)

    assert len(shop.target.calls) == 1
    assert len(shop.queue) == 1, "the second waits until the run has ended"
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + SECOND)
    shop.run_all(executor)
    assert len(shop.target.calls) == 1
    assert len(shop.queue) == 0


def test_a_message_of_a_live_run_is_hidden_until_it_may_be_taken_over_and_never_deleted(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    first, second = shop.executor(), shop.executor()
    first.claim_once(deliveries)
    shop.clock.advance(5 * SECOND)

    assert second.claim_once(deliveries) == []

    shop.clock.advance(shop.settings.lease_ms - 5 * SECOND + shop.settings.clock_bound_ms)
    assert shop.receive() == []
    shop.clock.advance(SECOND)
    assert [delivery.dispatch for delivery in shop.receive()] == [dispatch]


def test_a_silent_run_is_taken_over_past_lease_and_clock_bound_with_token_and_attempt_raised(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    first, second = shop.executor(), shop.executor()
    [live] = first.claim_once(deliveries)
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms)
    assert second.claim_once(deliveries) == [], "on the bound it still counts as alive"

    shop.clock.advance(1)
    [taken] = second.claim_once(deliveries)

    assert (taken.run.token, taken.run.attempt) == (2, 2)
    shop.start_all(second)
    second.finish_once()
    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt, run.worker_id) == (RunStatus.SUCCEEDED, 2, 2, "worker-2")
    lost, made = run.attempts
    assert (lost.attempt, lost.worker_id, lost.ended_at) == (1, live.run.worker_id, None)
    assert lost.error is not None
    assert lost.error.type == "lost"
    assert (made.attempt, made.worker_id, made.error) == (2, "worker-2", None)


def test_a_claim_whose_answer_was_lost_is_ours_and_costs_no_attempt(shop: Workshop) -> None:
    """B16."""
    dispatch = shop.dispatch(shop.put_job())

    class LosesAnswer(MemoryRunStore):
        lost = 0

        def insert(self, runs: list[Run]) -> list[Run | StoreError | None]:  # type: ignore[override]
            rows = super().insert(runs)
            if not self.lost:
                self.lost += 1
                raise OutcomeUnknown("insert", "no answer")
            return rows

    shop.run_all(shop.executor(run_store=LosesAnswer(shop.tables)))

    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt) == (RunStatus.SUCCEEDED, 1, 1)
    assert len(shop.target.calls) == 1


def test_a_take_over_whose_answer_was_lost_is_ours(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    shop.executor().claim_once(deliveries)
    shop.clock.advance(3 * MINUTE)

    class LosesAnswer(MemoryRunStore):
        lost = 0

        def take_over(self, run: Run, *, seen: Run) -> Run | None:
            row = super().take_over(run, seen=seen)
            if not self.lost:
                self.lost += 1
                raise OutcomeUnknown("take_over", "no answer")
            return row

    executor = shop.executor(run_store=LosesAnswer(shop.tables))
    executor.claim_once(deliveries)
    shop.start_all(executor)
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt) == (RunStatus.SUCCEEDED, 2, 2)


def test_of_two_that_take_over_at_once_one_wins(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    shop.executor().claim_once(deliveries)
    shop.clock.advance(3 * MINUTE)
    rival = shop.executor()

    class Overtaken(MemoryRunStore):
        is_first = True

        def take_over(self, run: Run, *, seen: Run) -> Run | None:
            if self.is_first:
                self.is_first = False
                rival.claim_once(deliveries)
            return super().take_over(run, seen=seen)

    loser = shop.executor(run_store=Overtaken(shop.tables))

    assert loser.claim_once(deliveries) == []
    assert len(rival.runs) == 1


def test_a_run_skipped_in_an_older_generation_runs_after_all(shop: Workshop) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    [delivery] = shop.receive()
    old = Run(
        job_key=job.job_key,
        run_id=dispatch.run_id,
        kind=dispatch.kind,
        slot=dispatch.slot,
        fire_at=dispatch.fire_at,
        status=RunStatus.SKIPPED,
        generation=job.generation - 1,
        token=3,
    )
    shop.run_store.insert([old])
    executor = shop.executor()

    executor.claim_once([delivery])
    shop.start_all(executor)
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.attempt) == (RunStatus.SUCCEEDED, 4, 1)


def test_a_run_skipped_in_the_same_generation_stays_skipped(shop: Workshop) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    executor = shop.executor()
    deliveries = shop.receive()
    executor.claim_once(deliveries)
    live = next(iter(executor.runs._live))
    row = replace(live.run, status=RunStatus.SKIPPED)
    shop.tables.put_run(row, None)

    shop.executor().claim_once(deliveries)

    assert shop.run_of(dispatch) == row
    assert len(shop.queue) == 0


def test_a_message_more_than_the_lead_early_is_hidden_for_the_rest(shop: Workshop) -> None:
    job = shop.put_job()
    slot = Instant(shop.clock.now() + MINUTE)
    dispatch = shop.dispatch(job, slot)
    executor = shop.executor()

    assert shop.claim(executor) == []

    assert shop.run_store.get(dispatch.key) is None
    shop.clock.advance(MINUTE - SECOND - 1)
    assert shop.receive() == []
    shop.clock.advance(1)
    [live] = shop.claim(executor)
    assert live.run.fire_at == slot


def test_a_message_early_by_lead_and_slack_is_claimed_and_one_more_millisecond_is_not(shop: Workshop) -> None:
    job = shop.put_job()
    held_ms = shop.settings.lead_ms + shop.settings.hold_slack_ms
    shop.dispatch(job, Instant(shop.clock.now() + held_ms))
    assert len(shop.claim(shop.executor())) == 1
    shop.dispatch(job, Instant(shop.clock.now() + held_ms + 1))
    assert shop.claim(shop.executor()) == []


def test_a_batch_of_which_one_take_over_fails_keeps_the_others(shop: Workshop) -> None:
    jobs = [shop.put_job(f"job-{number}") for number in range(3)]
    stuck = shop.dispatch(jobs[0])
    shop.executor().claim_once(shop.receive())
    shop.clock.advance(3 * MINUTE)
    others = [shop.dispatch(job, Instant(shop.clock.now())) for job in jobs[1:]]

    class NeverAnswers(MemoryRunStore):
        def take_over(self, run: Run, *, seen: Run) -> Run | None:
            del run, seen
            raise OutcomeUnknown("take_over", "no answer")

    executor = shop.executor(run_store=NeverAnswers(shop.tables))

    shop.run_all(executor)

    assert [shop.run_of(dispatch).status for dispatch in others] == [RunStatus.SUCCEEDED] * 2
    assert shop.run_of(stuck).status is RunStatus.RUNNING
    assert len(shop.queue) == 1


def test_the_claimed_row_says_when_and_by_whom(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(), Instant(shop.clock.now() + 200))
    shop.clock.advance(10)
    shop.claim(shop.executor())

    run = shop.run_of(dispatch)

    now = shop.clock.now()
    assert (run.enqueued_at, run.received_at, run.claimed_at) == (now - 10, now, now)
    assert run.lease_until == now + shop.settings.lease_ms
    assert run.started_at is None
    assert run.claim_id
