"""How a schedule is read over the one that a job has: what is declared already stays, and what was counted. Pure."""

from __future__ import annotations

from typing import Any

from functions.api.bodies import Document
from shared.domain.errors import InvalidRequest
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.schedules import At, Every, Schedule, count_slots, parse_schedule


def keeps_schedule(job: Job, document: Document) -> bool:
    """The document asks for the schedule that the job has, read as of then: much of one counts from when it is read.

    So a request that is repeated moves nothing, whatever happened to the job between, and is no mistake when its
    instant has passed meanwhile. `in` is always from now.
    """
    if document.get("in") is not None:
        return False
    # Rows of earlier versions do not say when it was read.
    as_of = (job.from_at, job.created_at) if job.read_at is None else (job.read_at,)
    return any(_asked_as_of(instant, job, document) == job.schedule for instant in as_of)


def _asked_as_of(instant: Instant, job: Job, document: Document) -> Schedule | None:
    try:
        return parse_schedule(document, now=instant, needs_slot=False, over=job.schedule, counted=job.counted)
    except InvalidRequest:
        return None


def schedule_parts(document: Document, now: Instant, over: Job | None = None) -> dict[str, Any]:
    """The fields of a job that the member `schedule` of a request sets; none where `over` has it already.

    `max_runs` goes on counting where the kind of the schedule stays. Raises InvalidRequest, seen from the schedule.
    """
    if over is None:
        return {"schedule": parse_schedule(document, now=now), "read_at": now, "counted": 0}
    if keeps_schedule(over, document):
        return {}
    asked, counted = parse_schedule(document, now=now, over=over.schedule), 0
    if asked.max_runs is not None and type(asked) is type(over.schedule):
        counted = _counted(over, now)
        asked = parse_schedule(document, now=now, over=over.schedule, counted=counted)
    return {"schedule": asked, "read_at": now, "counted": counted} if asked != over.schedule else {}


def _counted(job: Job, now: Instant) -> int:
    """How many of the runs that `max_runs` allows were planned before now: each slot counts, whatever became of it."""
    if job.schedule.max_runs is None or isinstance(job.schedule, At):
        return 0
    since = job.created_at if job.read_at is None else job.read_at
    return job.counted + count_slots(job.schedule, Instant(since - 1), Instant(now - 1))


def without_implied_anchor(document: Document, schedule: Schedule) -> Document:
    """The stored schedule as a document that a patch is merged into: an anchor that nobody named follows `start_at`."""
    if not isinstance(schedule, Every):
        return document
    is_implied = not schedule.includes_anchor or schedule.anchor == schedule.start_at
    return {name: value for name, value in document.items() if name != "anchor"} if is_implied else document
