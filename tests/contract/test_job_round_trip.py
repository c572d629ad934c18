"""A job and its entry come back as they were written."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from shared.domain.instants import Instant
from shared.domain.job import Cancellation, CancelOutcome, JobState, RetryPolicy
from shared.domain.schedules import At, Cron, Every, Misfire, Schedule
from shared.ports import JobWrite
from tests.contract.stored import entries_of, stored_job
from tests.contract.stores import Stores
from tests.contract.values import NOW, make_entry, make_job

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
    found = stored_job(stores, make_job(payload=payload))

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
        cancellation=Cancellation(CancelOutcome.RUNNING, ("r1", "r2"), more=3),
        expires_at=Instant(NOW + 1),
        first_generation=NOW - 5,
        resumed_generation=NOW - 1,
        paused_at=Instant(NOW + 2),
        read_at=Instant(NOW + 3),
        counted=4,
    )

    assert stored_job(stores, job) == job


def test_empty_texts_and_mappings_are_stored(stores: Stores) -> None:
    """B61."""
    job = make_job(name="", group="", tags={}, target={}, payload={}, created_by="", updated_by="")

    assert stored_job(stores, job) == job


def test_an_entry_comes_back_as_it_was(stores: Stores) -> None:
    job = make_job(schedule=At(instant=NOW))
    entry = make_entry(job, run_id="r", slot=NOW, attempt=3, fresh=False, misfire=Misfire("skip", 5, 0), lane="long")

    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=entry))

    assert entries_of(stores) == [entry]


def test_a_tombstone_comes_back_as_one(stores: Stores) -> None:
    job = make_job()
    stores.jobs.write(JobWrite(job=job, previous=None, put_entry=make_entry(job, schedule=None, fresh=False)))

    assert [entry.is_tombstone for entry in entries_of(stores)] == [True]
