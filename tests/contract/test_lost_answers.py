"""A write was carried out and its answer lost: the store finds out, and never writes twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from shared.adapters.aws.client import dynamodb_client
from shared.config import TableNames
from shared.domain.entry import single_entry
from shared.domain.errors import OutcomeUnknown
from shared.domain.fleet import Lease
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, CancelOutcome, JobState
from shared.domain.run import Attempt
from shared.ports import Completion, RevisionConflict, Written
from shared.ports.run_store import Heartbeat
from tests.contract.faults import CARRIED_OUT, CUT_OFF, LOST, Faults, Step, refused
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import (
    CANCELLED,
    KEPT,
    NOW,
    SUCCEEDED,
    WAITING,
    change_of,
    creation,
    finish_of,
    make_entry,
    make_grant,
    make_job,
    make_key,
    make_run,
    make_signing_key,
    make_waiting,
    postponement_of,
    receipt_of,
)
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator

#: As often as a call is made that nobody answers.
FOR_EVER = 3
#: DynamoDB remembers a ClientRequestToken for ten minutes only.
FORGOTTEN = Step(request=lambda params: params.pop("ClientRequestToken"))


@pytest.fixture
def faulty(emulator_endpoint: str, tables: TableNames) -> Iterator[tuple[Stores, Faults]]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    yield dynamo_stores(client, tables), Faults(client)
    client.close()


Faulty = tuple[Stores, Faults]


@pytest.mark.parametrize("loss", [LOST, refused("InternalServerError", 500), CUT_OFF], ids=["lost", "5xx", "cut off"])
def test_an_insert_finds_its_own_claim_or_none(faulty: Faulty, loss: Step) -> None:
    stores, faults = faulty
    faults.script("BatchExecuteStatement", loss)

    [answer] = stores.runs.insert([make_run()])

    assert answer in (None, make_run())
    assert stores.runs.get(make_run().key) == make_run()


def test_a_finish_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_run()
    stores.runs.insert([run])
    faults.script("BatchExecuteStatement", LOST)

    assert stores.runs.finish([finish_of(run, attempts=(Attempt(1, NOW, NOW, "w"),))]) == [SUCCEEDED]
    found = stores.runs.get(run.key)
    assert found is not None
    assert len(found.attempts) == 1


def test_a_finish_of_another_token_is_fenced_all_the_same(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_run(token=2)
    stores.runs.insert([run])
    faults.script("BatchExecuteStatement", LOST)

    assert stores.runs.finish([finish_of(run, token=1)]) == [None]


def test_a_heartbeat_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    stores.runs.insert([make_run()])
    faults.script("BatchExecuteStatement", LOST)

    assert stores.runs.heartbeat([Heartbeat(make_run().key, 1, Instant(NOW + 99))]) == [KEPT]


def test_a_take_over_is_won(faulty: Faulty) -> None:
    stores, faults = faulty
    seen = make_run()
    stores.runs.insert([seen])
    faults.script("PutItem", LOST)

    assert stores.runs.take_over(make_run(token=2, claim_id="claim-2"), seen=seen) is None


def test_leases_are_taken_raised_and_left(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("UpdateItem", LOST)
    lease = stores.fleet.take(Lease(1), owner="node-1")
    assert lease == Lease(1, "node-1", 1)
    lease = replace(lease, watermark=NOW)

    faults.script("UpdateItem", LOST)
    assert stores.fleet.checkpoint(lease)
    faults.script("UpdateItem", LOST)
    assert stores.fleet.disown(lease)

    assert stores.fleet.snapshot().lease(1) == replace(lease, owner=None)


def test_a_create_is_written(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("TransactWriteItems", LOST)

    assert stores.jobs.write(creation(make_job())) == Written()
    first, second = faults.calls["TransactWriteItems"]
    assert first["ClientRequestToken"] == second["ClientRequestToken"]


@pytest.mark.parametrize("steps", [[LOST, FORGOTTEN], [LOST] * FOR_EVER], ids=["then refused", "for ever"])
def test_a_write_is_read_back(faulty: Faulty, steps: list[Step]) -> None:
    stores, faults = faulty
    job = make_job()
    stores.jobs.write(creation(job))
    change = change_of(job, payload=[0.1, ""])
    faults.script("TransactWriteItems", *steps)

    assert stores.jobs.write(change) == Written()
    assert stores.jobs.get(job.job_key) == change.job


def test_a_write_that_completed_meanwhile_is_still_written(faulty: Faulty) -> None:
    stores, faults = faulty
    change = creation(make_job())
    stores.jobs.write(change)
    stores.jobs.complete([Completion(change.job.job_key, change.job.generation, NOW)])
    faults.script("TransactWriteItems", FORGOTTEN)

    assert stores.jobs.write(change) == Written()


def test_a_write_that_another_overtook_is_a_conflict(faulty: Faulty) -> None:
    stores, faults = faulty
    job = make_job()
    stores.jobs.write(creation(job))
    newer = change_of(job, name="newer")
    stores.jobs.write(newer)
    faults.script("TransactWriteItems", refused("InternalServerError", 500), FORGOTTEN)

    assert stores.jobs.write(change_of(job, name="late")) == RevisionConflict(newer.job)


def test_a_completion_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    job = make_job()
    stores.jobs.write(creation(job))
    faults.script("UpdateItem", LOST)

    assert stores.jobs.complete([Completion(job.job_key, job.generation, NOW)]) == [True]


def test_the_answer_of_a_cancel_is_the_stored_one(faulty: Faulty) -> None:
    stores, faults = faulty
    job = make_job(state=JobState.CANCELLED)
    stores.jobs.write(creation(job))
    answer = Cancellation(CancelOutcome.RUNNING, ("r",))
    faults.script("UpdateItem", LOST)

    assert stores.jobs.record_cancellation(job.job_key, job.generation, answer) == answer


def test_a_move_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    stores.jobs.write(creation(make_job()))
    faults.script("UpdateItem", LOST)

    assert stores.entries.move(make_entry().key, Instant(NOW + 1))


def test_a_key_is_stored(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("TransactWriteItems", LOST)

    assert stores.access.put_key(make_key())


def test_starts_whose_booking_was_lost_are_not_booked_by_another(faulty: Faulty) -> None:
    stores, faults = faulty
    for at, loss in ((0, LOST), (1, CARRIED_OUT)):
        faults.script("UpdateItem", loss)
        first = stores.access.book_starts("acme", at=Instant(NOW + at), length_ms=10)
        assert stores.access.book_starts("acme", at=NOW, length_ms=10) >= first + 10


@pytest.mark.parametrize("steps", [[LOST], [LOST, refused("InternalServerError", 500)]], ids=["once", "twice"])
def test_what_is_made_under_an_idempotency_key_is_made_once(faulty: Faulty, steps: list[Step]) -> None:
    stores, faults = faulty
    for kind in ("key", "signing key", "grant"):
        receipt = receipt_of(kind, idempotency_key=kind)
        faults.script("TransactWriteItems", *steps)
        made = {
            "key": lambda receipt=receipt: stores.access.put_key(make_key(), receipt=receipt),
            "signing key": lambda receipt=receipt: stores.access.put_signing_key(make_signing_key(), receipt=receipt),
            "grant": lambda receipt=receipt: stores.access.put_grant(make_grant(), receipt=receipt),
        }
        assert made[kind]()
        assert stores.access.receipt("acme", kind) == receipt
    assert len(stores.access.keys_of_owner("acme", limit=9).items) == 1
    assert (stores.access.signing_keys("acme"), stores.access.grants("acme")) == (
        (make_signing_key(),),
        (make_grant(),),
    )


@pytest.mark.parametrize("steps", [[LOST], [LOST, refused("InternalServerError", 500)]], ids=["once", "twice"])
def test_a_receipt_whose_answer_is_lost_is_not_in_its_own_way(faulty: Faulty, steps: list[Step]) -> None:
    stores, faults = faulty
    faults.script("PutItem", *steps)

    assert stores.access.put_receipt(receipt_of("one")) is None


def test_what_is_never_answered_is_named_unknown(faulty: Faulty) -> None:
    stores, faults = faulty
    stores.runs.insert([make_run()])
    faults.script("BatchExecuteStatement", *[LOST] * FOR_EVER)

    with pytest.raises(OutcomeUnknown):
        stores.runs.finish([finish_of(make_run())])
    assert stores.runs.finish([finish_of(make_run())]) == [SUCCEEDED]


def test_a_write_of_which_nothing_is_seen_is_unknown(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("TransactWriteItems", *[refused("InternalServerError", 500)] * FOR_EVER)

    with pytest.raises(OutcomeUnknown):
        stores.jobs.write(creation(make_job()))


def test_a_throttle_after_a_lost_answer_does_not_say_that_nothing_was_written(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("PutItem", LOST, *[refused("ThrottlingException")] * 20)
    stores.runs.insert([make_run()])

    with pytest.raises(OutcomeUnknown):
        stores.runs.take_over(make_run(token=2, claim_id="claim-2"), seen=make_run())


def test_an_answer_that_was_cut_off_is_not_taken_for_an_empty_one(faulty: Faulty) -> None:
    stores, faults = faulty
    stores.runs.insert([make_run()])
    faults.script("GetItem", CUT_OFF)

    assert stores.runs.get(make_run().key) == make_run()


@pytest.mark.parametrize("steps", [[LOST], [LOST, FORGOTTEN], [LOST] * FOR_EVER], ids=["once", "forgotten", "for ever"])
def test_a_plan_is_written(faulty: Faulty, steps: list[Step]) -> None:
    stores, faults = faulty
    run = make_waiting()
    faults.script("TransactWriteItems", *steps)

    assert stores.runs.plan(run, single_entry(run, shard=1, lane="default"), seen=None) == Written()
    assert stores.runs.get(run.key) == run


def test_a_plan_that_another_transaction_stopped_is_made_again(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_waiting()
    conflict = refused(
        "TransactionCanceledException",
        CancellationReasons=[{"Code": "TransactionConflict"}, {"Code": "None"}],
    )
    faults.script("TransactWriteItems", conflict, conflict)

    assert stores.runs.plan(run, single_entry(run, shard=1, lane="default"), seen=None) == Written()
    assert len(faults.calls["TransactWriteItems"]) == 3


def test_a_plan_of_which_nothing_is_seen_is_unknown(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_waiting()
    faults.script("TransactWriteItems", *[refused("InternalServerError", 500)] * FOR_EVER)

    with pytest.raises(OutcomeUnknown):
        stores.runs.plan(run, single_entry(run, shard=1, lane="default"), seen=None)


@pytest.mark.parametrize("steps", [[LOST], [LOST, FORGOTTEN]], ids=["once", "forgotten"])
def test_a_postponement_is_done(faulty: Faulty, steps: list[Step]) -> None:
    stores, faults = faulty
    run = make_run()
    stores.runs.insert([run])
    faults.script("TransactWriteItems", *steps)

    entry = single_entry(make_waiting(token=1), shard=1, lane="default")
    assert stores.runs.postpone(postponement_of(run), entry) is WAITING


def test_a_request_to_cancel_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_run()
    stores.runs.insert([run])
    faults.script("UpdateItem", LOST)

    row = stores.runs.request_cancel(run.key, at=NOW, expires_at=NOW)

    assert row == replace(run, cancel_requested_at=NOW)
    assert stores.runs.get(run.key) == row


def test_the_finish_of_a_cancelled_run_is_done(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_run()
    stores.runs.insert([run])
    stores.runs.request_cancel(run.key, at=NOW, expires_at=NOW)
    faults.script("BatchExecuteStatement", LOST, LOST)

    assert stores.runs.finish([finish_of(run)]) == [CANCELLED]
