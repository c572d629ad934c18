from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import Instant
from shared.domain.job import Cancellation, CancelOutcome, JobState, recreated
from shared.ports import Completion, JobWrite, ReceiptUsed, RevisionConflict, Written
from tests.contract.races import race
from tests.contract.stored import entries_of, stored_job
from tests.contract.stores import Stores
from tests.contract.values import NOW, change_of, creation, make_entry, make_job, make_receipt


def test_a_job_that_is_not_there_is_none(stores: Stores) -> None:
    assert stores.jobs.get("acme/none") is None


def test_a_second_create_of_the_same_id_is_refused_and_writes_nothing(stores: Stores) -> None:
    first = stored_job(stores, make_job(name="first"))

    outcome = stores.jobs.write(creation(make_job(name="second", generation=NOW + 1), receipt=make_receipt()))

    assert outcome == RevisionConflict(first)
    assert stores.jobs.get(first.job_key) == first
    assert [entry.generation for entry in entries_of(stores)] == [first.generation]
    assert stores.access.receipt("acme", "once") is None


def test_a_create_that_differs_in_its_payload_alone_is_refused(stores: Stores) -> None:
    first = stored_job(stores, make_job(payload=1))

    assert stores.jobs.write(creation(make_job(payload=2))) == RevisionConflict(first)


def test_the_same_create_again_is_written_and_changes_nothing(stores: Stores) -> None:
    change = creation(make_job())
    stores.jobs.write(change)
    assert stores.entries.move(make_entry().key, Instant(NOW + 5))

    assert stores.jobs.write(change) == Written()
    assert [entry.next_at for entry in entries_of(stores)] == [NOW + 5]


def test_a_change_replaces_job_and_entry(stores: Stores) -> None:
    change = change_of(stored_job(stores, make_job()), state=JobState.PAUSED)

    assert stores.jobs.write(change) == Written()
    assert stores.jobs.get(change.job.job_key) == change.job
    assert entries_of(stores) == [change.put_entry]


def test_a_change_of_neither_schedule_nor_state_leaves_the_entry_alone(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    change = JobWrite(job=replace(job, revision=2, payload="new"), previous=job, put_entry=None)

    assert stores.jobs.write(change) == Written()
    assert stores.jobs.get(job.job_key) == change.job
    assert entries_of(stores) == [make_entry(job)]


def test_fields_that_a_change_empties_are_gone(stores: Stores) -> None:
    job = stored_job(stores, make_job(payload=1, name="n", tags={"a": "b"}, expires_at=NOW))
    change = change_of(job, payload=None, name="", tags={}, expires_at=None)

    stores.jobs.write(change)

    assert stores.jobs.get(job.job_key) == change.job


def test_removing_an_entry_that_is_gone_is_no_failure(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    stores.entries.delete([make_entry(job).key])

    assert stores.jobs.write(change_of(job)) == Written()


def test_a_change_of_a_revision_that_is_past_is_refused(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    newer = change_of(job, name="newer")
    stores.jobs.write(newer)

    assert stores.jobs.write(change_of(job, name="late")) == RevisionConflict(newer.job)
    assert entries_of(stores) == [newer.put_entry]


@pytest.mark.parametrize(
    ("first", "second"), [(JobState.CANCELLED, JobState.PAUSED), (JobState.PAUSED, JobState.ACTIVE)]
)
def test_of_two_changes_at_one_millisecond_the_second_is_not_taken_for_the_first(
    stores: Stores, first: JobState, second: JobState
) -> None:
    job = stored_job(stores, make_job())
    assert stores.jobs.write(change_of(job, state=first)) == Written()

    outcome = stores.jobs.write(change_of(job, state=second))

    assert outcome == RevisionConflict(change_of(job, state=first).job)


def test_a_change_of_a_job_that_completed_meanwhile_is_refused(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    stores.jobs.complete([Completion(job.job_key, job.generation, NOW)])

    outcome = stores.jobs.write(change_of(job, state=JobState.PAUSED))

    assert outcome == RevisionConflict(replace(job, state=JobState.COMPLETED, expires_at=NOW))


def test_a_change_of_a_job_that_is_not_there_is_refused(stores: Stores) -> None:
    assert stores.jobs.write(change_of(make_job())) == RevisionConflict(None)
    assert entries_of(stores) == []


def test_a_job_is_created_over_an_ended_one(stores: Stores) -> None:
    ended = stored_job(stores, make_job(state=JobState.CANCELLED, payload=1, expires_at=NOW))
    job = recreated(make_job(name="again"), ended)

    assert stores.jobs.write(JobWrite(job=job, previous=ended, put_entry=make_entry(job))) == Written()
    assert stores.jobs.get(job.job_key) == job


def test_of_many_changes_of_one_revision_exactly_one_is_written(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    changes = [change_of(job, name=f"racer {number}") for number in range(16)]

    outcomes = race(lambda number: stores.jobs.write(changes[number]))

    winners = [change for change, outcome in zip(changes, outcomes, strict=True) if outcome == Written()]
    assert len(winners) == 1
    assert stores.jobs.get(job.job_key) == winners[0].job
    assert all(outcome in (Written(), RevisionConflict(winners[0].job)) for outcome in outcomes)


def test_of_many_creates_with_one_idempotency_key_exactly_one_is_written(stores: Stores) -> None:
    changes = [
        creation(make_job(f"job-{number}"), receipt=make_receipt(job_id=f"job-{number}")) for number in range(16)
    ]

    outcomes = race(lambda number: stores.jobs.write(changes[number]))

    assert outcomes.count(Written()) == 1
    receipt = changes[outcomes.index(Written())].receipt
    assert receipt is not None
    assert outcomes.count(ReceiptUsed(receipt)) == 15
    assert len(entries_of(stores)) == 1


def test_a_used_idempotency_key_is_told_before_a_conflict(stores: Stores) -> None:
    receipt = make_receipt()
    stores.jobs.write(creation(make_job(), receipt=receipt))

    outcome = stores.jobs.write(creation(make_job(name="other"), receipt=make_receipt(fingerprint="other")))

    assert outcome == ReceiptUsed(receipt)
    assert stores.access.receipt("acme", "once") == receipt


def test_a_receipt_at_its_end_is_free_again(stores: Stores) -> None:
    first = make_receipt()
    stores.jobs.write(creation(make_job("first"), receipt=first))
    late = replace(first, fingerprint="late", at=Instant(first.expires_at - 1), expires_at=Instant(NOW * 2))
    free = replace(late, fingerprint="free", at=first.expires_at)

    assert stores.jobs.write(creation(make_job("late"), receipt=late)) == ReceiptUsed(first)
    assert stores.jobs.write(creation(make_job("free"), receipt=free)) == Written()
    assert stores.access.receipt("acme", "once") == free


def test_the_first_answer_of_a_cancel_is_kept(stores: Stores) -> None:
    job = stored_job(stores, make_job(state=JobState.CANCELLED))
    first = Cancellation(CancelOutcome.RUNNING, ("r1",))
    second = Cancellation(CancelOutcome.CANCELLED_BEFORE_FIRE)

    assert stores.jobs.record_cancellation(job.job_key, job.generation, first) == first
    assert stores.jobs.record_cancellation(job.job_key, job.generation, second) == first
    assert stores.jobs.get(job.job_key) == replace(job, cancellation=first)


def test_the_answer_of_a_cancel_of_another_generation_is_not_stored(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    answer = Cancellation(CancelOutcome.CANCELLED_BEFORE_FIRE)

    assert stores.jobs.record_cancellation(job.job_key, job.generation - 1, answer) == answer
    assert stores.jobs.record_cancellation("acme/none", 1, answer) == answer
    assert stores.jobs.get(job.job_key) == job
    assert stores.jobs.get("acme/none") is None


def test_an_active_job_completes_without_a_new_revision(stores: Stores) -> None:
    job = stored_job(stores, make_job())
    expires_at = Instant(NOW + 1_234)

    assert stores.jobs.complete([Completion(job.job_key, job.generation, expires_at)]) == [True]
    assert stores.jobs.get(job.job_key) == replace(job, state=JobState.COMPLETED, expires_at=expires_at)
    assert stores.jobs.complete([Completion(job.job_key, job.generation, expires_at)]) == [True]


@pytest.mark.parametrize("offset", [-1, 1])
def test_another_generation_does_not_complete(stores: Stores, offset: int) -> None:
    job = stored_job(stores, make_job())

    assert stores.jobs.complete([Completion(job.job_key, job.generation + offset, NOW)]) == [False]
    assert stores.jobs.get(job.job_key) == job


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.CANCELLED, JobState.COMPLETED])
def test_a_job_that_is_not_active_does_not_complete(stores: Stores, state: JobState) -> None:
    job = stored_job(stores, make_job(state=state))

    assert stores.jobs.complete([Completion(job.job_key, job.generation, NOW)]) == [False]
    assert stores.jobs.complete([Completion("acme/none", 1, NOW)]) == [False]
    assert stores.jobs.get(job.job_key) == job
    assert stores.jobs.get("acme/none") is None


def test_many_jobs_are_read_at_once_and_repeated_keys_once(stores: Stores) -> None:
    jobs = [stored_job(stores, make_job(f"job-{number}")) for number in range(3)]
    keys = [job.job_key for job in jobs] * 50 + ["acme/none"]

    assert stores.jobs.get_many(keys) == {job.job_key: job for job in jobs}
    assert stores.jobs.get_many([]) == {}
