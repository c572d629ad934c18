"""How a job comes to be and changes: pure, so that the same request at the same instant gives the same job again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from functions.api.bodies import Document, compact, merge_patch
from functions.api.documents import definition
from functions.api.generations import first_from, next_generation_of
from functions.api.lanes import lane_for
from functions.api.refusals import JobEnded
from functions.api.requests import EXAMPLES, CreateJob, MisfireDocument
from functions.api.rescheduling import schedule_parts, without_implied_anchor
from functions.api.retries import read_retry
from functions.api.validating import validated
from shared.domain.durations import format_duration, parse_duration
from shared.domain.errors import FieldProblem, InvalidRequest, PayloadTooLarge
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.limits import (
    MAX_KEEP_AFTER_COMPLETION_MS,
    MAX_PAYLOAD_BYTES,
    MAX_PROBLEMS,
    MAX_TIMEOUT_MS,
    MIN_GRACE_MS,
    MIN_TIMEOUT_MS,
)
from shared.domain.schedules import Misfire, Schedule, default_misfire, parse_schedule
from shared.domain.targets import parse_target
from shared.domain.templates import faults_of, is_templated
from shared.schema import DEFAULT_LANE

_KINDS: Final = ("at", "in", "cron", "every")


def build_job(request: CreateJob, *, owner_id: str, job_id: str, by: str, now: Instant) -> Job:
    """The job that `request` describes, created at `now`.

    Raises:
        InvalidRequest: with every problem that the parts of the request have.
        PayloadTooLarge: the payload alone is over its limit.
    """
    parts = _parts_of(request, CreateJob.model_fields, now)
    schedule = parts["schedule"]
    parts["misfire"] = _misfire_of(request.misfire, schedule)
    return Job(
        owner_id=owner_id,
        job_id=job_id,
        generation=now,
        first_generation=now,
        from_at=first_from(schedule, now),
        paused_at=now if request.state == "paused" else None,
        created_at=now,
        updated_at=now,
        created_by=by,
        updated_by=by,
        **parts,
    )


def read_schedule(document: Document, now: Instant) -> Schedule:
    """The member `schedule` of a request. Raises InvalidRequest."""
    try:
        return parse_schedule(document, now=now)
    except InvalidRequest as error:
        raise _under("schedule", error) from error


def patched(job: Job, patch: Document, *, by: str, now: Instant) -> Job:
    """The job after a merge patch; members that the patch does not name are kept and not looked at again.

    A schedule or target of another kind replaces the old one as a whole. Raises as `build_job`, and JobEnded.
    """
    _check_not_ended(job)
    request = validated(CreateJob, merge_patch(_base_of(job, patch), patch))
    if request.job_id != job.job_id:
        raise InvalidRequest(FieldProblem("#/job_id", "the id of a job never changes", job.job_id))
    parts = _parts_of(request, {*patch, "lane"} if "timeout" in patch else patch, now, over=job)
    schedule = parts.get("schedule", job.schedule)
    if "misfire" in patch:
        parts["misfire"] = _misfire_of(request.misfire, schedule)
    elif job.misfire == _default_like(job.misfire, job.schedule):
        parts["misfire"] = _default_like(job.misfire, schedule)
    return _changed(job, parts, by=by, now=now)


def replaced(job: Job, request: CreateJob, *, by: str, now: Instant) -> Job:
    """The job as a PUT says it: what is left out gets its default, but for `state`, which stays as it is: whoever
    declares jobs at each deploy does not resume what an operator paused. Raises as `build_job`, and JobEnded.
    """
    kept = set() if "state" in request.model_fields_set else {"state"}
    parts = _parts_of(request, CreateJob.model_fields.keys() - kept, now, over=job)
    parts["misfire"] = _misfire_of(request.misfire, parts.get("schedule", job.schedule))
    after = _changed(job, parts, by=by, now=now)
    if after != job:
        _check_not_ended(job)
    return after


def with_state(job: Job, state: JobState, *, by: str, now: Instant) -> Job:
    """Paused, or active again from now on without what was missed. The same job when it is so already."""
    _check_not_ended(job)
    return _changed(job, {"state": state}, by=by, now=now)


def _changed(job: Job, parts: dict[str, Any], *, by: str, now: Instant) -> Job:
    after = replace(job, **parts)
    if after == job:
        return job
    after = replace(after, revision=job.revision + 1, updated_at=now, updated_by=by)
    if after.state is not job.state:
        after = replace(after, state_reason=None)
    return next_generation_of(job, after, now)


def _check_not_ended(job: Job) -> None:
    if job.state.has_ended:
        raise JobEnded(job.job_id, job.state)


def _base_of(job: Job, patch: Mapping[str, Any]) -> Document:
    """The definition that the patch is merged into, less what a change of kind makes void."""
    base = definition(job)
    base["schedule"] = without_implied_anchor(base["schedule"], job.schedule)
    schedule = patch.get("schedule")
    if isinstance(schedule, dict):
        kinds = [kind for kind in _KINDS if schedule.get(kind) is not None]
        if kinds and kinds[0] not in base["schedule"]:
            base["schedule"] = {}
    target = patch.get("target")
    if isinstance(target, dict) and target.get("type", job.target["type"]) != job.target["type"]:
        base["target"] = {}
    if "timeout" in patch and job.lane == DEFAULT_LANE:
        # Nobody chose it, perhaps: the new timeout may ask for another.
        base["lane"] = None
    return base


def _parts_of(request: CreateJob, names: Collection[str], now: Instant, *, over: Job | None = None) -> dict[str, Any]:
    """The fields of a job that the named members of the request set, but for `misfire`, which needs the schedule.

    `over` is the job that is changed.
    """
    problems = _problems_of_overlap(request)
    parts: dict[str, Any] = {}
    if "target" in names:
        # Whether the payload is a template is said there.
        names = {*names, "payload"}
    for name, read in _READERS.items():
        if name not in names:
            continue
        try:
            parts |= read(request, now, over)
        except PayloadTooLarge:
            raise
        except InvalidRequest as error:
            problems += error.problems
    if "misfire" in names:
        problems += _problems_of_misfire(request.misfire)
    if problems:
        raise InvalidRequest(_without_repeats(problems))
    return parts


def _read_target(request: CreateJob, *_: object) -> dict[str, Any]:
    try:
        return {"target": parse_target(request.target)}
    except InvalidRequest as error:
        raise _under("target", error) from error


def check_payload(payload: object, target: Mapping[str, Any], *, at_most: int = MAX_PAYLOAD_BYTES) -> None:
    """Of at most so many bytes. Raises PayloadTooLarge; InvalidRequest for a placeholder that there is not, where the
    target has any.
    """
    size = len(compact(payload).encode())
    if size > at_most:
        detail = f"the payload has {size} bytes as JSON; at most {at_most} are taken"
        raise PayloadTooLarge(FieldProblem("#/payload", detail, EXAMPLES["#/payload"]))
    if is_templated(target) and (faults := list(islice(faults_of(payload, "#/payload"), MAX_PROBLEMS))):
        raise InvalidRequest(faults)


def _read_payload(request: CreateJob, *_: object) -> dict[str, Any]:
    check_payload(request.payload, request.target)
    return {"payload": request.payload}


def _read_lane(request: CreateJob, *_: object) -> dict[str, Any]:
    try:
        timeout_ms = parse_duration(request.timeout, "#/timeout")
    except InvalidRequest:
        # Said of the timeout itself.
        timeout_ms = 0
    return {"lane": lane_for(request.lane, timeout_ms=timeout_ms)}


def _read_timeout(request: CreateJob, *_: object) -> dict[str, Any]:
    return {"timeout_ms": _duration(request.timeout, "#/timeout", low=MIN_TIMEOUT_MS, high=MAX_TIMEOUT_MS)}


def _read_keep(request: CreateJob, *_: object) -> dict[str, Any]:
    text, pointer = request.keep_after_completion, "#/keep_after_completion"
    return {"keep_after_completion_ms": _duration(text, pointer, low=0, high=MAX_KEEP_AFTER_COMPLETION_MS)}


def _read_schedule(request: CreateJob, now: Instant, over: Job | None) -> dict[str, Any]:
    try:
        return schedule_parts(request.schedule, now, over)
    except InvalidRequest as error:
        raise _under("schedule", error) from error


_READERS: Final[Mapping[str, Callable[[CreateJob, Instant, Job | None], dict[str, Any]]]] = {
    "name": lambda request, *_: {"name": request.name},
    "group": lambda request, *_: {"group": request.group},
    "tags": lambda request, *_: {"tags": request.tags},
    "state": lambda request, *_: {"state": JobState(request.state)},
    "schedule": _read_schedule,
    "target": _read_target,
    "payload": _read_payload,
    "lane": _read_lane,
    "timeout": _read_timeout,
    "retry": lambda request, *_: {"retry": read_retry(request.retry)},
    "overlap": lambda request, *_: {"overlap": request.overlap},
    "max_concurrent": lambda request, *_: {"max_concurrent": request.max_concurrent},
    "keep_after_completion": _read_keep,
}


def _problems_of_overlap(request: CreateJob) -> list[FieldProblem]:
    if request.max_concurrent is None or request.overlap == "allow":
        return []
    detail = f"overlap {request.overlap} means one run at once; leave max_concurrent out, or set overlap to allow"
    return [FieldProblem("#/max_concurrent", detail, EXAMPLES["#/max_concurrent"])]


def _default_like(misfire: Misfire, schedule: Schedule) -> Misfire:
    """The same policy with the default grace of the schedule."""
    return replace(default_misfire(schedule), policy=misfire.policy, limit=misfire.limit)


def _misfire_of(document: MisfireDocument, schedule: Schedule) -> Misfire:
    misfire = replace(default_misfire(schedule), policy=document.policy, limit=document.limit)
    if "grace" not in document.model_fields_set:
        return misfire
    grace_ms = None if document.grace is None else parse_duration(document.grace, "#/misfire/grace")
    return replace(misfire, grace_ms=grace_ms, within_gap=False)


def _problems_of_misfire(document: MisfireDocument) -> list[FieldProblem]:
    if document.grace is None:
        return []
    pointer = "#/misfire/grace"
    try:
        grace_ms = parse_duration(document.grace, pointer)
    except InvalidRequest as error:
        return error.problems
    if grace_ms >= MIN_GRACE_MS:
        return []
    detail = (
        f"a grace of {document.grace} would leave out what any short stall delays; give at least "
        f"{format_duration(MIN_GRACE_MS)}, or null to run every slot however late"
    )
    return [FieldProblem(pointer, detail, EXAMPLES[pointer])]


def _duration(text: str, pointer: str, *, low: int, high: int) -> int:
    duration_ms = parse_duration(text, pointer)
    if not low <= duration_ms <= high:
        detail = f"{text} is not between {format_duration(low)} and {format_duration(high)}"
        raise InvalidRequest(FieldProblem(pointer, detail, EXAMPLES[pointer]))
    return duration_ms


def _under(parent: str, error: InvalidRequest) -> InvalidRequest:
    """The problems of a part, seen from the whole; one without an example of its own gets that of the part."""
    problems = [each.under(parent) for each in error.problems]
    example = EXAMPLES[f"#/{parent}"]
    return InvalidRequest([each if each.example is not None else replace(each, example=example) for each in problems])


def _without_repeats(problems: list[FieldProblem]) -> list[FieldProblem]:
    """One problem for each member: the first found."""
    return list({each.pointer: each for each in reversed(problems)}.values())[::-1]
