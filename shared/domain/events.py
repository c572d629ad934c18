"""Lifecycle events: what became of jobs and runs, told to whoever listens on the bus.

run.*   a run has ended, by whoever wrote its last row: a worker, the API (a waiting run is cancelled), a scheduler
        (slots that the misfire policy left out: one event for a whole gap, as there is one row), or `dead_letters`
job.*   a job has changed, by whoever wrote it: the API, or Carillon itself (completed; paused by its receiver)

Each is published after the write that it reports. Of what a user wrote an event carries ids only: never a payload, a
header, an output or the text of an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job, JobState
from shared.domain.keys import job_id_of, owner_of
from shared.domain.run import Finish, Run, RunKind, RunStatus
from shared.domain.schedules import Gap

#: `source` of every event.
SOURCE: Final = "carillon"


class EventType(StrEnum):
    """`detail-type` of an event."""

    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_SKIPPED = "run.skipped"
    RUN_CANCELLED = "run.cancelled"
    JOB_CREATED = "job.created"
    JOB_UPDATED = "job.updated"
    JOB_PAUSED = "job.paused"
    JOB_RESUMED = "job.resumed"
    JOB_COMPLETED = "job.completed"
    JOB_CANCELLED = "job.cancelled"

    @property
    def is_of_run(self) -> bool:
        return self.startswith("run.")


@dataclass(frozen=True, slots=True)
class Event:
    """Usually told once. A repeat has the same detail; one whose teller dies after its write, or meets no bus, is lost:
    rows are the record.
    """

    type: EventType
    at: Instant
    detail: Mapping[str, Any]


def run_ended(run: Run, finish: Finish, status: RunStatus) -> Event:
    """`status` is what is stored, whatever the finish says. Raises ValueError for a run that is alive."""
    ended = replace(
        run,
        status=status,
        started_at=finish.started_at,
        ended_at=finish.ended_at,
        reason=finish.reason,
        error=finish.error,
    )
    return run_is_over(ended)


def run_is_over(run: Run) -> Event:
    """Of the row of a run that has ended. Raises ValueError for one that is alive."""
    at = run.ended_at if run.ended_at is not None else run.fire_at
    detail = {
        "owner_id": owner_of(run.job_key),
        "job_id": job_id_of(run.job_key),
        "run_id": run.run_id,
        "kind": run.kind.value,
        "slot": to_rfc3339(run.slot),
        "attempt": run.attempt,
        "fencing_token": run.token,
        "started_at": None if run.started_at is None else to_rfc3339(run.started_at),
        "ended_at": to_rfc3339(at),
        "reason": run.reason,
        "error_type": None if run.error is None else run.error.type,
        "gap": None if run.gap is None else _gap(run.gap),
    }
    return Event(EventType(f"run.{run.status}"), at, detail)


def _gap(gap: Gap) -> Mapping[str, Any]:
    return {"first": to_rfc3339(gap.first), "last": to_rfc3339(gap.last), "count": gap.count}


def job_completed(job: Job, *, at: Instant) -> Event:
    return _of_job(EventType.JOB_COMPLETED, job, at, reason=None)


def job_changed(job: Job, previous: Job | None) -> Event:
    """What was written over `previous`, None for a new job. A job that is paused by Carillon itself says why, in a
    stable word.
    """
    return _of_job(_change(job, previous), job, job.updated_at, reason=job.state_reason)


def _change(job: Job, previous: Job | None) -> EventType:
    if job.state is JobState.CANCELLED:
        return EventType.JOB_CANCELLED
    if previous is None or previous.state.has_ended:
        return EventType.JOB_CREATED
    if job.state is previous.state:
        return EventType.JOB_UPDATED
    return EventType.JOB_PAUSED if job.state is JobState.PAUSED else EventType.JOB_RESUMED


def _of_job(kind: EventType, job: Job, at: Instant, *, reason: str | None) -> Event:
    detail = {
        "owner_id": job.owner_id,
        "job_id": job.job_id,
        "generation": job.generation,
        "revision": job.revision,
        "at": to_rfc3339(at),
        "reason": reason,
    }
    return Event(kind, at, detail)


_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
_INSTANT: Final = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_OF_RUN: Final[Mapping[str, Any]] = {
    "owner_id": _TEXT,
    "job_id": _TEXT,
    "run_id": _TEXT,
    "kind": {"enum": [each.value for each in RunKind]},
    "slot": _INSTANT,
    "attempt": _COUNT,
    "fencing_token": _COUNT,
    "started_at": {**_INSTANT, "type": ["string", "null"]},
    "ended_at": _INSTANT,
    "reason": _TEXT_OR_NULL,
    "error_type": _TEXT_OR_NULL,
    # The slots that one row stands for, which the misfire policy left out; null of a single run.
    "gap": {
        "type": ["object", "null"],
        "properties": {"first": _INSTANT, "last": _INSTANT, "count": _COUNT},
        "required": ["first", "last", "count"],
    },
}
_OF_JOB: Final[Mapping[str, Any]] = {
    "owner_id": _TEXT,
    "job_id": _TEXT,
    "generation": _COUNT,
    "revision": _COUNT,
    "at": _INSTANT,
    "reason": _TEXT_OR_NULL,
}


def _schema(kind: EventType) -> Mapping[str, Any]:
    properties = _OF_RUN if kind.is_of_run else _OF_JOB
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.value,
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        # Readers bear members that a later release adds.
        "additionalProperties": True,
    }


#: The JSON Schema of `detail`, by type.
SCHEMAS: Final[Mapping[EventType, Mapping[str, Any]]] = MappingProxyType({kind: _schema(kind) for kind in EventType})


def schema_document() -> str:
    """`events.schema.json` beside this file, for readers in any language: a schema of each `detail`, by type."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Carillon's lifecycle events",
        "description": "`source` is carillon. The member of $defs that is named like `detail-type` describes `detail`.",
        "$defs": {
            kind.value: {name: value for name, value in schema.items() if name != "$schema"}
            for kind, schema in SCHEMAS.items()
        },
    }
    return json.dumps(document, indent=2) + "\n"
