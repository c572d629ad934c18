"""Lifecycle events: what a worker tells of runs that it ended, and of jobs that it completed or paused, to whoever
listens on the bus. What the API or a scheduler writes (slots skipped while a job is paused, a waiting run that is
cancelled) is told by their own answers and rows.

Of what a user wrote an event carries ids only: never a payload, a header, an output or the text of an error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import job_id_of, owner_of
from shared.domain.run import Finish, Run, RunKind, RunStatus

#: `source` of every event.
SOURCE: Final = "carillon"


class EventType(StrEnum):
    """`detail-type` of an event."""

    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_TIMED_OUT = "run.timed_out"
    RUN_SKIPPED = "run.skipped"
    RUN_CANCELLED = "run.cancelled"
    JOB_COMPLETED = "job.completed"
    JOB_PAUSED = "job.paused"

    @property
    def is_of_run(self) -> bool:
        return self.startswith("run.")


@dataclass(frozen=True, slots=True)
class Event:
    """Told at least once: a repeat has the same detail."""

    type: EventType
    at: Instant
    detail: Mapping[str, Any]


def run_ended(run: Run, finish: Finish, status: RunStatus) -> Event:
    """`status` is what is stored, whatever the finish says. Raises ValueError for a run that is alive."""
    detail = {
        "owner_id": owner_of(run.job_key),
        "job_id": job_id_of(run.job_key),
        "run_id": run.run_id,
        "kind": run.kind.value,
        "slot": to_rfc3339(run.slot),
        "attempt": run.attempt,
        "fencing_token": run.token,
        "started_at": None if finish.started_at is None else to_rfc3339(finish.started_at),
        "ended_at": to_rfc3339(finish.ended_at),
        "reason": finish.reason,
        "error_type": None if finish.error is None else finish.error.type,
    }
    return Event(EventType(f"run.{status}"), finish.ended_at, detail)


def job_completed(job: Job, *, at: Instant) -> Event:
    return _of_job(EventType.JOB_COMPLETED, job, at, reason=None)


def job_paused(job: Job, *, at: Instant) -> Event:
    """Of a job that Carillon itself paused; its reason is a stable word."""
    return _of_job(EventType.JOB_PAUSED, job, at, reason=job.state_reason)


def _of_job(kind: EventType, job: Job, at: Instant, *, reason: str | None) -> Event:
    detail = {
        "owner_id": job.owner_id,
        "job_id": job.job_id,
        "generation": job.generation,
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
}
_OF_JOB: Final[Mapping[str, Any]] = {
    "owner_id": _TEXT,
    "job_id": _TEXT,
    "generation": _COUNT,
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
