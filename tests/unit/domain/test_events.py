from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema_rs
import pytest

from shared.domain import events
from shared.domain.events import SCHEMAS, EventType, job_changed, run_is_over, schema_document
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState, paused
from shared.domain.run import RunStatus
from shared.domain.schedules import Gap
from tests.contract.values import NOW, make_job, make_run

DOCUMENT = Path(events.__file__).with_name("events.schema.json")


def test_the_schemas_that_are_published_are_those_of_the_code() -> None:
    assert DOCUMENT.read_text() == schema_document(), (
        "write it anew: python -P -c \"from shared.domain.events import schema_document as d; print(d(), end='')\" "
        "> shared/domain/events.schema.json"
    )


def test_every_published_schema_is_a_schema() -> None:
    document = json.loads(DOCUMENT.read_text())

    jsonschema_rs.meta.validate(document)
    assert set(document["$defs"]) == {kind.value for kind in EventType}


@pytest.mark.parametrize("status", [status for status in RunStatus if not status.is_alive])
def test_every_end_of_a_run_has_an_event(status: RunStatus) -> None:
    event = run_is_over(replace(make_run(), status=status, ended_at=NOW))

    assert event.type.value == f"run.{status}"
    jsonschema_rs.validator_for(dict(SCHEMAS[event.type])).validate(dict(event.detail))


def test_a_run_that_lives_has_none() -> None:
    with pytest.raises(ValueError, match="running"):
        run_is_over(make_run())


def test_a_gap_is_told_as_one_with_its_first_and_last_slot() -> None:
    gap = Gap(NOW, Instant(NOW + 120_000), 3)
    event = run_is_over(replace(make_run(), status=RunStatus.SKIPPED, ended_at=NOW, reason="misfire", gap=gap))

    jsonschema_rs.validator_for(dict(SCHEMAS[event.type])).validate(dict(event.detail))
    assert (event.detail["reason"], event.detail["gap"]["count"]) == ("misfire", 3)


def changes() -> list[tuple[Job, Job | None, EventType]]:
    job = make_job()
    asleep, ended = replace(job, state=JobState.PAUSED), replace(job, state=JobState.CANCELLED)
    return [
        (job, None, EventType.JOB_CREATED),
        (asleep, None, EventType.JOB_CREATED),
        (job, ended, EventType.JOB_CREATED),
        (replace(job, name="other"), job, EventType.JOB_UPDATED),
        (asleep, job, EventType.JOB_PAUSED),
        (job, asleep, EventType.JOB_RESUMED),
        (ended, job, EventType.JOB_CANCELLED),
        (ended, asleep, EventType.JOB_CANCELLED),
        (ended, replace(job, state=JobState.COMPLETED), EventType.JOB_CANCELLED),
    ]


@pytest.mark.parametrize(("job", "previous", "told"), changes(), ids=str)
def test_a_change_of_a_job_is_told_as_what_it_is(job: Job, previous: Job | None, told: EventType) -> None:
    assert job_changed(job, previous).type is told


def test_a_job_that_carillon_pauses_says_why() -> None:
    job = make_job()

    event = job_changed(paused(job, now=NOW, by="carillon:410", reason="gone"), job)

    assert (event.type, event.detail["reason"]) == (EventType.JOB_PAUSED, "gone")
