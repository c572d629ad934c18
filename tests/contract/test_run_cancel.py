"""The end of a run is asked for: a terminal state is final, and the history keeps both facts (B41)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.instants import DAY, MINUTE, Instant
from shared.domain.run import Attempt, Run, RunStatus
from shared.ports.run_store import Heartbeat
from tests.contract.stored import stored_run
from tests.contract.stores import Stores
from tests.contract.values import (
    CANCEL_REQUESTED,
    CANCELLED,
    FENCED,
    KEPT,
    NOW,
    SUCCEEDED,
    finish_of,
    make_receipt,
    make_run,
    make_waiting,
    postponement_of,
)

AT = Instant(NOW + 3)
EXPIRES_AT = Instant(NOW + DAY)


def cancel(stores: Stores, run: Run, at: int = AT) -> Run | None:
    return stores.runs.request_cancel(run.key, at=Instant(at), expires_at=EXPIRES_AT)


def beat_of(run: Run) -> Heartbeat:
    return Heartbeat(run.key, run.token, Instant(run.lease_until + MINUTE))


def test_a_run_that_is_not_there_is_none(stores: Stores) -> None:
    assert cancel(stores, make_run()) is None
    assert stores.runs.get(make_run().key) is None


def test_a_running_run_goes_on_and_its_heartbeat_is_told(stores: Stores) -> None:
    run = stored_run(stores, make_run())

    assert cancel(stores, run) == replace(run, cancel_requested_at=AT)
    assert stores.runs.heartbeat([beat_of(run)]) == [CANCEL_REQUESTED]
    assert stores.runs.get(run.key) == replace(
        run, cancel_requested_at=AT, lease_until=Instant(run.lease_until + MINUTE)
    )


def test_the_first_request_counts(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    cancel(stores, run)

    assert cancel(stores, run, at=AT + 9) == replace(run, cancel_requested_at=AT)


def test_heartbeats_of_a_batch_are_told_apart(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + number)) for number in range(3)]
    cancel(stores, runs[1])
    beats = [beat_of(run) for run in runs]
    beats[2] = replace(beats[2], token=9)

    assert stores.runs.heartbeat(beats) == [KEPT, CANCEL_REQUESTED, FENCED]


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT])
def test_a_run_ends_cancelled_whatever_its_target_answers(stores: Stores, status: RunStatus) -> None:
    run = stored_run(stores, make_run())
    cancel(stores, run)
    attempt = Attempt(1, NOW, NOW, "w")
    finish = finish_of(run, status=status, output="late", attempts=(attempt,), expires_at=EXPIRES_AT)

    assert stores.runs.finish([finish]) == [CANCELLED]
    ended = replace(
        run,
        status=CANCELLED,
        reason="cancelled",
        cancel_requested_at=AT,
        ended_at=finish.ended_at,
        output="late",
        attempts=(attempt,),
        expires_at=EXPIRES_AT,
    )
    assert stores.runs.get(run.key) == ended
    assert stores.runs.finish([finish]) == [CANCELLED]
    assert stores.runs.heartbeat([beat_of(run)]) == [FENCED]
    assert stores.runs.get(run.key) == ended


def test_a_run_that_is_cancelled_waits_for_no_further_attempt(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    cancel(stores, run)

    assert stores.runs.finish([postponement_of(run, expires_at=EXPIRES_AT)]) == [CANCELLED]
    found = stores.runs.get(run.key)
    assert found is not None
    assert (found.status, found.attempt, found.ended_at) == (CANCELLED, 1, NOW + 5)
    assert stores.runs.alive(run.job_key, since=NOW) == []


def test_finishes_of_a_batch_are_told_apart(stores: Stores) -> None:
    runs = [stored_run(stores, make_run(NOW + number)) for number in range(30)]
    for run in runs[::3]:
        cancel(stores, run)
    finishes = [finish_of(run, token=9 if number % 3 == 2 else 1) for number, run in enumerate(runs)]

    assert stores.runs.finish(finishes) == [CANCELLED, SUCCEEDED, None] * 10


def test_a_waiting_run_is_cancelled_at_once(stores: Stores) -> None:
    run = stored_run(stores, make_waiting())

    ended = cancel(stores, run)

    assert ended == replace(
        run, status=CANCELLED, reason="cancelled", cancel_requested_at=AT, ended_at=AT, expires_at=EXPIRES_AT
    )
    assert stores.runs.get(run.key) == ended
    assert stores.runs.alive(run.job_key, since=NOW) == []


@pytest.mark.parametrize(
    "status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED, RunStatus.SKIPPED]
)
def test_what_has_ended_stays_as_it_is(stores: Stores, status: RunStatus) -> None:
    run = stored_run(stores, make_run(status=status, ended_at=NOW))

    assert cancel(stores, run) == run
    assert stores.runs.get(run.key) == run


def test_a_run_that_was_cancelled_since_it_was_read_is_not_taken_over(stores: Stores) -> None:
    seen = stored_run(stores, make_run())
    cancelled = cancel(stores, seen)

    assert stores.runs.take_over(make_run(token=2, claim_id="claim-2"), seen=seen) == cancelled


def test_a_take_over_may_carry_the_request_on(stores: Stores) -> None:
    cancelled = cancel(stores, stored_run(stores, make_run()))
    assert cancelled is not None
    run = make_run(token=2, claim_id="claim-2", cancel_requested_at=AT)

    assert stores.runs.take_over(run, seen=cancelled) is None
    assert stores.runs.get(run.key) == run


@pytest.mark.parametrize("make", [make_waiting, make_run])
def test_a_request_leaves_its_receipt_and_its_repeat_changes_nothing(stores: Stores, make: Callable[[], Run]) -> None:
    run = stored_run(stores, make())
    receipt = make_receipt(job_id="", generation=0, revision=0)
    first = stores.runs.request_cancel(run.key, at=AT, expires_at=EXPIRES_AT, receipt=receipt)
    assert first is not None
    assert first.cancel_requested_at == AT
    assert stores.access.receipt("acme", receipt.idempotency_key) == receipt
    # Somebody runs it again.
    again = replace(first, token=first.token + 1, claim_id="again", cancel_requested_at=None, status=RunStatus.RUNNING)
    assert stores.runs.take_over(again, seen=first) is None
    later = replace(receipt, at=Instant(AT + 1))
    answer = stores.runs.request_cancel(run.key, at=Instant(AT + 1), expires_at=EXPIRES_AT, receipt=later)
    assert answer == stores.runs.get(run.key)
    assert answer is not None
    assert answer.cancel_requested_at is None


def test_a_request_that_changes_nothing_leaves_its_receipt_too(stores: Stores) -> None:
    run = stored_run(stores, make_run(status=SUCCEEDED))
    receipt = make_receipt(job_id="", generation=0, revision=0)
    assert stores.runs.request_cancel(run.key, at=AT, expires_at=EXPIRES_AT, receipt=receipt) == run
    assert stores.access.receipt("acme", receipt.idempotency_key) == receipt


def test_a_request_about_no_run_leaves_no_receipt(stores: Stores) -> None:
    receipt = make_receipt()
    assert stores.runs.request_cancel(make_run().key, at=AT, expires_at=EXPIRES_AT, receipt=receipt) is None
    assert stores.access.receipt("acme", receipt.idempotency_key) is None
