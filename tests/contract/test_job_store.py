from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, CancelOutcome, Job, JobState, RetryPolicy, recreated
from shared.domain.schedules import At, Cron, Every, Misfire, Schedule
from shared.ports import Completion, JobFilter, JobWrite, ReceiptUsed, RevisionConflict, Written
from tests.contract.races import race
from tests.contract.stores import Stores
from tests.contract.values import NOW, change_of, creation, make_entry, make_job, make_receipt


def entries_of(stores: Stores) -> list[Entry]:
    reads = (stores.entries.announced, stores.entries.parked)
    pages = [page for read in reads for page in read(1, since=Instant(0), until=Instant(NOW * 2))]
    return [entry for page in pages for entry in page]


def stored(stores: Stores, job: Job) -> Job:
    assert stores.jobs.write(creation(job)) == Written()
    found = stores.jobs.get(job.job_key)
    assert found is not None
    return found


PAYLOADS: list[Any] = [
    None,
    "",
    {},
    [],
    False,
    0,
    -0.0,
    0.1,
    1e300,
    12345678901234567890123456789012345678901234567890,
    {"": "", "nested": [{"a": None}, [], {}, [[1.5]]]},
    "\u0000 \u0007 \uffff \U0001f680 \u05e9\u05dc\u05d5\u05dd \u65e5\u672c\u8a9e",
    "\ud800",
    {"key \U0001f680": ["\u2028"]},
]


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_any_json_payload_comes_back_as_it_was(stores: Stores, payload: Any) -> None:
    """B52."""
    found = stored(stores, make_job(payload=payload))

    assert found.payload == payload
    assert type(found.payload) is type(payload)


@pytest.mark.parametrize(
    "schedule",
    [
        At(instant=NOW, local="2026-11-27T01:00:00", timezone="Europe/Berlin"),
        Cron(expression="30 2 * * 1-5", timezone="UTC", dst="skip", window_ms=500),
        Every(interval_ms=1000, anchor=NOW, end_at=Instant(NOW + 10), exclude=((date(2026, 12, 24), "eve"),)),
    ],
    ids=["at", "cron", "every"],
)
def test_every_field_comes_back_as_it_was(stores: Stores, schedule: Schedule) -> None:
    job = make_job(
        schedule=schedule,
        state=JobState.PAUSED,
        state_reason="gone",
        revision=7,
        name="\u65e5\u672c\u8a9e \U0001f680",
        group="g",
        tags={"team": "", "": "x"},
        lane="catchup",
        timeout_ms=1,
        retry=RetryPolicy(max_attempts=3, factor=1.1, retry_on=("5xx",), never_on=("4xx", "x")),
        overlap="skip",
        max_concurrent=2,
        misfire=Misfire("fire_all", None, 3),
        keep_after_completion_ms=0,
        cancellation=Cancellation(CancelOutcome.RUNNING, ("r1", "r2")),
        expires_at=Instant(NOW + 1),
    )

    assert stored(stores, job) == job


def test_empty_texts_and_mappings_are_stored(stores: Stores) -> None:
    """B61."""
    job = make_job(name="", group="", tags={}, target={}, payload={}, created_by="", updated_by="")

    assert stored(stores, job) == job


def test_an_entry_comes_back_as_it_was(stores: Stores) -> None:
    job = make_job(schedule=At(instant=NOW))
    entry = make_entry(job, run_id="r", slot=NOW, attempt=3, fresh=False, misfire=Misfire("skip", 5, 0), lane="long")

    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=entry))

    assert entries_of(stores) == [entry]


def test_a_tombstone_comes_back_as_one(stores: Stores) -> None:
    job = make_job()
    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=make_entry(job, schedule=None, fresh=False)))

    assert [entry.is_tombstone for entry in entries_of(stores)] == [True]


def test_a_job_that_is_not_there_is_none(stores: Stores) -> None:
    assert stores.jobs.get("acme/none") is None


def test_a_second_create_of_the_same_id_is_refused_and_writes_nothing(stores: Stores) -> None:
    first = stored(stores, make_job(name="first"))

    outcome = stores.jobs.write(creation(make_job(name="second", generation=NOW + 1), receipt=make_receipt()))

    assert outcome == RevisionConflict(first)
    assert stores.jobs.get(first.job_key) == first
    assert [entry.generation for entry in entries_of(stores)] == [first.generation]
    assert stores.access.receipt("acme", "once") is None


def test_a_create_that_differs_in_its_payload_alone_is_refused(stores: Stores) -> None:
    first = stored(stores, make_job(payload=1))

    assert stores.jobs.write(creation(make_job(payload=2))) == RevisionConflict(first)


def test_the_same_create_again_is_written_and_changes_nothing(stores: Stores) -> None:
    change = creation(make_job())
    stores.jobs.write(change)
    assert stores.entries.move(make_entry().key, Instant(NOW + 5))

    assert stores.jobs.write(change) == Written()
    assert [entry.next_at for entry in entries_of(stores)] == [NOW + 5]


def test_a_change_replaces_job_and_entry(stores: Stores) -> None:
    change = change_of(stored(stores, make_job()), state=JobState.PAUSED)

    assert stores.jobs.write(change) == Written()
    assert stores.jobs.get(change.job.job_key) == change.job
    assert entries_of(stores) == [change.put_entry]


def test_a_change_of_neither_schedule_nor_state_leaves_the_entry_alone(stores: Stores) -> None:
    job = stored(stores, make_job())
    change = JobWrite(job=replace(job, revision=2, payload="new"), previous=job, put_entry=None)

    assert stores.jobs.write(change) == Written()
    assert stores.jobs.get(job.job_key) == change.job
    assert entries_of(stores) == [make_entry(job)]


def test_fields_that_a_change_empties_are_gone(stores: Stores) -> None:
    job = stored(stores, make_job(payload=1, name="n", tags={"a": "b"}, expires_at=NOW))
    change = change_of(job, payload=None, name="", tags={}, expires_at=None)

    stores.jobs.write(change)

    assert stores.jobs.get(job.job_key) == change.job


def test_removing_an_entry_that_is_gone_is_no_failure(stores: Stores) -> None:
    job = stored(stores, make_job())
    stores.entries.delete([make_entry(job).key])

    assert stores.jobs.write(change_of(job)) == Written()


def test_a_change_of_a_revision_that_is_past_is_refused(stores: Stores) -> None:
    job = stored(stores, make_job())
    newer = change_of(job, name="newer")
    stores.jobs.write(newer)

    assert stores.jobs.write(change_of(job, name="late")) == RevisionConflict(newer.job)
    assert entries_of(stores) == [newer.put_entry]


def test_a_change_of_a_job_that_completed_meanwhile_is_refused(stores: Stores) -> None:
    job = stored(stores, make_job())
    stores.jobs.complete([Completion(job.job_key, job.generation, NOW)])

    outcome = stores.jobs.write(change_of(job, state=JobState.PAUSED))

    assert outcome == RevisionConflict(replace(job, state=JobState.COMPLETED, expires_at=NOW))


def test_a_change_of_a_job_that_is_not_there_is_refused(stores: Stores) -> None:
    assert stores.jobs.write(change_of(make_job())) == RevisionConflict(None)
    assert entries_of(stores) == []


def test_a_job_is_created_over_an_ended_one(stores: Stores) -> None:
    ended = stored(stores, make_job(state=JobState.CANCELLED, payload=1, expires_at=NOW))
    job = recreated(make_job(name="again"), ended)

    assert stores.jobs.write(JobWrite(job=job, previous=ended, put_entry=make_entry(job))) == Written()
    assert stores.jobs.get(job.job_key) == job


def test_of_many_changes_of_one_revision_exactly_one_is_written(stores: Stores) -> None:
    job = stored(stores, make_job())
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
    job = stored(stores, make_job(state=JobState.CANCELLED))
    first = Cancellation(CancelOutcome.RUNNING, ("r1",))
    second = Cancellation(CancelOutcome.CANCELLED_BEFORE_FIRE)

    assert stores.jobs.record_cancellation(job.job_key, job.generation, first) == first
    assert stores.jobs.record_cancellation(job.job_key, job.generation, second) == first
    assert stores.jobs.get(job.job_key) == replace(job, cancellation=first)


def test_the_answer_of_a_cancel_of_another_generation_is_not_stored(stores: Stores) -> None:
    job = stored(stores, make_job())
    answer = Cancellation(CancelOutcome.CANCELLED_BEFORE_FIRE)

    assert stores.jobs.record_cancellation(job.job_key, job.generation - 1, answer) == answer
    assert stores.jobs.record_cancellation("acme/none", 1, answer) == answer
    assert stores.jobs.get(job.job_key) == job
    assert stores.jobs.get("acme/none") is None


def test_an_active_job_completes_without_a_new_revision(stores: Stores) -> None:
    job = stored(stores, make_job())
    expires_at = Instant(NOW + 1_234)

    assert stores.jobs.complete([Completion(job.job_key, job.generation, expires_at)]) == [True]
    assert stores.jobs.get(job.job_key) == replace(job, state=JobState.COMPLETED, expires_at=expires_at)
    assert stores.jobs.complete([Completion(job.job_key, job.generation, expires_at)]) == [True]


@pytest.mark.parametrize("offset", [-1, 1])
def test_another_generation_does_not_complete(stores: Stores, offset: int) -> None:
    job = stored(stores, make_job())

    assert stores.jobs.complete([Completion(job.job_key, job.generation + offset, NOW)]) == [False]
    assert stores.jobs.get(job.job_key) == job


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.CANCELLED, JobState.COMPLETED])
def test_a_job_that_is_not_active_does_not_complete(stores: Stores, state: JobState) -> None:
    job = stored(stores, make_job(state=state))

    assert stores.jobs.complete([Completion(job.job_key, job.generation, NOW)]) == [False]
    assert stores.jobs.complete([Completion("acme/none", 1, NOW)]) == [False]
    assert stores.jobs.get(job.job_key) == job
    assert stores.jobs.get("acme/none") is None


def test_many_jobs_are_read_at_once_and_repeated_keys_once(stores: Stores) -> None:
    jobs = [stored(stores, make_job(f"job-{number}")) for number in range(3)]
    keys = [job.job_key for job in jobs] * 50 + ["acme/none"]

    assert stores.jobs.get_many(keys) == {job.job_key: job for job in jobs}
    assert stores.jobs.get_many([]) == {}


def pages_of(stores: Stores, limit: int, only: JobFilter) -> list[tuple[Job, ...]]:
    pages, cursor = [], None
    while True:
        page = stores.jobs.list_of_owner("acme", only=only, limit=limit, cursor=cursor)
        assert len(page.items) <= limit
        pages.append(page.items)
        cursor = page.cursor
        if cursor is None:
            return pages


@pytest.mark.parametrize("limit", [1, 7, 18, 100])
def test_the_jobs_of_an_owner_are_listed_newest_first(stores: Stores, limit: int) -> None:
    # Three were created at each instant.
    jobs = [stored(stores, make_job(f"job-{number}", created_at=Instant(NOW + number // 3))) for number in range(18)]
    stored(stores, make_job("foreign", owner_id="acme2"))

    listed = [job for page in pages_of(stores, limit, JobFilter()) for job in page]

    assert [job.created_at for job in listed] == sorted((job.created_at for job in jobs), reverse=True)
    assert {job.job_id for job in listed} == {job.job_id for job in jobs}
    assert len(listed) == len(jobs)


def test_a_job_created_meanwhile_does_not_disturb_the_list(stores: Stores) -> None:
    for number in range(9):
        stored(stores, make_job(f"job-{number}", created_at=Instant(NOW + number)))
    first = stores.jobs.list_of_owner("acme", only=JobFilter(), limit=4)
    stored(stores, make_job("new", created_at=Instant(NOW + 100)))

    rest = stores.jobs.list_of_owner("acme", only=JobFilter(), limit=100, cursor=first.cursor)

    assert [job.job_id for job in (*first.items, *rest.items)] == [f"job-{number}" for number in range(8, -1, -1)]


def test_a_list_holds_what_its_filter_admits(stores: Stores) -> None:
    wanted = make_job("wanted", state=JobState.PAUSED, group="g", tags={"a": "b", "c": "d"}, name="nightly sync")
    others = [
        replace(wanted, job_id="1", state=JobState.ACTIVE),
        replace(wanted, job_id="2", group=""),
        replace(wanted, job_id="3", tags={"a": "x"}),
        replace(wanted, job_id="4", name="sync nightly"),
    ]
    for job in (wanted, *others):
        stored(stores, job)
    only = JobFilter(JobState.PAUSED, "g", {"a": "b"}, "night")

    assert [job for page in pages_of(stores, 2, only) for job in page] == [wanted]


def test_an_owner_without_jobs_has_an_empty_list(stores: Stores) -> None:
    assert pages_of(stores, 5, JobFilter()) == [()]


def test_the_jobs_of_an_owner_are_counted_up_to_a_limit(stores: Stores) -> None:
    for number in range(20):
        stores.jobs.write(creation(make_job(f"job-{number}")))
    stores.jobs.write(creation(make_job("foreign", owner_id="acme2")))

    assert stores.jobs.count_of_owner("acme", at_most=1_000) == 20
    assert stores.jobs.count_of_owner("acme", at_most=7) == 7
    assert stores.jobs.count_of_owner("none", at_most=7) == 0
