"""How a run and the single-fire entry that brings it to a worker are written: together, or not at all."""

from __future__ import annotations

from dataclasses import replace

from shared.adapters.run_rules import MAX_STORED_ATTEMPTS
from shared.domain.entry import Entry, single_entry
from shared.domain.instants import MINUTE, Instant
from shared.domain.run import Attempt, Run, RunStatus
from shared.ports import ReceiptUsed, RowThere, Written
from tests.contract.races import race
from tests.contract.stored import stored_run
from tests.contract.stores import Stores
from tests.contract.values import (
    CANCELLED,
    NOW,
    WAITING,
    finish_of,
    make_receipt,
    make_run,
    make_waiting,
    postponement_of,
)


def entry_of(run: Run) -> Entry:
    return single_entry(run, shard=1, lane="default")


def entries(stores: Stores) -> list[Entry]:
    until = Instant(NOW + 100 * MINUTE)
    return [
        entry.read()
        for shard in range(4)
        for page in stores.entries.announced(shard, since=Instant(0), until=until)
        for entry in page
    ]


def test_run_and_entry_come_back_as_they_were(stores: Stores) -> None:
    run = make_waiting(attempts_before=3, tried_since=Instant(1))
    receipt = make_receipt(run_id=run.run_id)

    assert stores.runs.plan(run, entry_of(run), seen=None, receipt=receipt) == Written()
    assert stores.runs.get(run.key) == run
    assert entries(stores) == [entry_of(run)]
    assert stores.access.receipt("acme", receipt.idempotency_key) == receipt


def test_a_planned_run_is_alive_from_the_first_moment(stores: Stores) -> None:
    run = make_waiting()
    stores.runs.plan(run, entry_of(run), seen=None)

    assert stores.runs.alive(run.job_key, since=Instant(NOW + 100 * MINUTE)) == [run]


def test_where_a_row_is_nothing_is_planned(stores: Stores) -> None:
    there = stored_run(stores, make_run())
    run = make_waiting()

    assert stores.runs.plan(run, entry_of(run), seen=None, receipt=make_receipt()) == RowThere(there)
    assert entries(stores) == []
    assert stores.access.receipt("acme", make_receipt().idempotency_key) is None


def test_the_same_plan_again_is_written_and_changes_nothing(stores: Stores) -> None:
    run = make_waiting()
    receipt = make_receipt()
    stores.runs.plan(run, entry_of(run), seen=None, receipt=receipt)
    stores.entries.delete([entry_of(run).key])

    assert stores.runs.plan(run, entry_of(run), seen=None, receipt=receipt) == Written()
    assert stores.runs.get(run.key) == run


def test_a_used_receipt_is_answered_first(stores: Stores) -> None:
    first = make_waiting()
    used = make_receipt()
    stores.runs.plan(first, entry_of(first), seen=None, receipt=used)
    second = make_waiting(NOW + 1)

    outcome = stores.runs.plan(second, entry_of(second), seen=None, receipt=make_receipt(fingerprint="g" * 64))

    assert outcome == ReceiptUsed(used)
    assert stores.runs.get(second.key) is None


def test_a_failed_run_is_planned_again_with_its_past_attempts(stores: Stores) -> None:
    past = Attempt(1, NOW, NOW, "worker-1")
    failed = stored_run(stores, make_run(status=RunStatus.FAILED, ended_at=NOW, expires_at=NOW, attempts=(past,)))
    run = make_waiting(token=2, attempt=2)

    assert stores.runs.plan(run, entry_of(run), seen=failed) == Written()
    assert stores.runs.get(run.key) == replace(run, attempts=(past,))
    assert entries(stores) == [entry_of(run)]


def test_a_run_that_is_not_as_it_was_seen_is_not_planned(stores: Stores) -> None:
    seen = stored_run(stores, make_run(status=RunStatus.FAILED))
    winner = make_waiting(token=2)
    stores.runs.plan(winner, entry_of(winner), seen=seen)
    late = make_waiting(token=2, claim_id="plan-2", lease_until=Instant(NOW + 1))

    assert stores.runs.plan(late, entry_of(late), seen=seen) == RowThere(winner)
    assert entries(stores) == [entry_of(winner)]


def test_a_run_that_is_gone_is_not_planned(stores: Stores) -> None:
    run = make_waiting(token=2)

    assert stores.runs.plan(run, entry_of(run), seen=make_run()) == RowThere(None)
    assert entries(stores) == []


def test_of_many_plans_of_one_run_exactly_one_is_written(stores: Stores) -> None:
    seen = stored_run(stores, make_run(status=RunStatus.FAILED))
    runs = [make_waiting(token=2, claim_id=f"plan-{number}") for number in range(16)]

    answers = race(lambda number: stores.runs.plan(runs[number], entry_of(runs[number]), seen=seen))

    assert answers.count(Written()) == 1
    assert len(entries(stores)) == 1


def test_of_many_attempts_the_first_and_the_newest_are_kept(stores: Stores) -> None:
    attempts = tuple(Attempt(number, NOW, NOW, "w") for number in range(1, 51))
    seen = stored_run(stores, make_run(status=RunStatus.FAILED, attempts=attempts))
    run = make_waiting(token=2)

    stores.runs.plan(run, entry_of(run), seen=seen)

    found = stores.runs.get(run.key)
    assert found is not None
    assert [each.attempt for each in found.attempts] == [1, *range(50 - MAX_STORED_ATTEMPTS + 2, 51)]


# Waiting for the next attempt ----------------------------------------------------------------------------------------


def test_a_finish_that_waits_keeps_the_run_alive_and_says_for_what(stores: Stores) -> None:
    run = stored_run(stores, make_run(token=2))
    finish = postponement_of(run, tried_since=NOW, expires_at=NOW)

    assert stores.runs.finish([finish]) == [WAITING]
    waiting = replace(
        run, status=WAITING, lease_until=Instant(NOW + 90_000), attempt=2, attempts=finish.attempts, tried_since=NOW
    )
    assert stores.runs.get(run.key) == waiting
    assert stores.runs.alive(run.job_key, since=Instant(NOW + 100 * MINUTE)) == [waiting]
    assert stores.runs.finish([finish]) == [WAITING]
    assert stores.runs.get(run.key) == waiting


def test_a_postponed_run_has_its_entry(stores: Stores) -> None:
    run = stored_run(stores, make_run(token=2))
    finish = postponement_of(run)
    waiting = replace(run, status=WAITING, lease_until=Instant(NOW + 90_000), attempt=2, attempts=finish.attempts)

    assert stores.runs.postpone(finish, entry_of(waiting)) is WAITING
    assert stores.runs.get(run.key) == waiting
    assert entries(stores) == [entry_of(waiting)]
    assert stores.runs.postpone(finish, entry_of(waiting)) is WAITING


def test_a_postponement_of_another_token_is_fenced(stores: Stores) -> None:
    run = stored_run(stores, make_run(token=3))

    assert stores.runs.postpone(postponement_of(run, token=2), entry_of(run)) is None
    assert stores.runs.get(run.key) == run
    assert entries(stores) == []


def test_a_postponement_of_an_ended_run_is_fenced(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    stores.runs.finish([finish_of(run)])

    assert stores.runs.postpone(postponement_of(run), entry_of(run)) is None
    assert entries(stores) == []


def test_a_run_whose_end_was_asked_for_is_cancelled_instead_of_postponed(stores: Stores) -> None:
    run = stored_run(stores, make_run())
    stores.runs.request_cancel(run.key, at=Instant(NOW + 2), expires_at=NOW)

    assert stores.runs.postpone(postponement_of(run), entry_of(run)) is CANCELLED
    found = stores.runs.get(run.key)
    assert found is not None
    assert found.status is CANCELLED
    assert entries(stores) == []


def test_a_waiting_run_is_taken_over(stores: Stores) -> None:
    run = make_waiting()
    stores.runs.plan(run, entry_of(run), seen=None)
    claim = make_run(token=1, claim_id="claim-1")

    assert stores.runs.take_over(claim, seen=run) is None
    assert stores.runs.get(run.key) == claim
