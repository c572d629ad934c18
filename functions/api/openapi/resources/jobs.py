"""Jobs: created, read, changed, cancelled and explained."""

from __future__ import annotations

from typing import Any, Final

from functions.api.openapi.operation import OF_JOB, Operation, Operations
from functions.api.openapi.shapes import (
    CANCEL_OUTCOME,
    COUNT,
    DRIFT,
    DURATION,
    FLAG,
    INSTANT,
    JOB_ID_SCHEMA,
    RUN_ID_SCHEMA,
    RUN_IDS,
    RUN_KIND,
    RUN_STATUS,
    STATUS,
    TEXT,
    Schema,
    listing,
    nullable,
    one_of,
    record,
    ref,
)
from functions.api.requests import EXAMPLE_SCHEDULE
from shared.domain.limits import MAX_NAMED_RUNS

_HANDLER: Final = {"type": "handler", "name": "echo"}
_JOB: Final[dict[str, Any]] = {
    "job_id": "weekly-report",
    "name": "Weekly report",
    "group": "billing",
    "tags": {"team": "finance"},
    "schedule": EXAMPLE_SCHEDULE,
    "target": _HANDLER,
    "payload": {"report": "weekly"},
}

_ONE_RUN: Final = (
    "One slot of one job is one run: an `at` that an earlier job of the same id has run already is refused; later "
    "slots are the new job's."
)

_MEMBERS: Final[dict[str, Schema]] = {
    "job_id": JOB_ID_SCHEMA,
    "name": {**TEXT, "examples": ["Nightly report"]},
    "group": TEXT,
    "tags": {"type": "object", "additionalProperties": TEXT},
    "state": one_of("active", "paused", "completed", "cancelled"),
    "state_reason": {**nullable(TEXT), "description": "Why Carillon itself paused the job."},
    "schedule": ref("Schedule"),
    "target": {"type": "object", "properties": {"type": TEXT}, "required": ["type"]},
    "payload": {"description": "Any JSON."},
    "lane": TEXT,
    "timeout": DURATION,
    "retry": record(
        {
            "max_attempts": COUNT,
            "base": DURATION,
            "factor": {"type": "number"},
            "cap": DURATION,
            "max_age": DURATION,
            "retry_on": {"type": "array", "items": TEXT},
            "never_on": {"type": "array", "items": TEXT},
        }
    ),
    "overlap": {
        **one_of("allow", "skip", "buffer_one", "cancel_other"),
        "description": (
            "A run has its place from its start to its end, also between its attempts and while its worker is dead. "
            "One that has begun is never skipped."
        ),
    },
    "max_concurrent": nullable(COUNT),
    "misfire": record(
        {"policy": one_of("fire_once", "fire_all", "skip"), "grace": nullable(DURATION), "limit": COUNT},
        optional=("grace",),
        about=(
            "What becomes of fires that are later than `grace`; null: none is. The default is the gap to the next slot "
            "(at most 60 s, at least 1 s). It is left out where the gaps of a cron with seconds differ."
        ),
    ),
    "keep_after_completion": DURATION,
    "generation": COUNT,
    "revision": {**COUNT, "description": "What the ETag says. It rises with each change of the job."},
    "next_slots": {"type": "array", "items": INSTANT},
    "created_at": INSTANT,
    "created_by": TEXT,
    "updated_at": INSTANT,
    "updated_by": TEXT,
}
_LAST_RUN: Final = record(
    {
        "run_id": RUN_ID_SCHEMA,
        "kind": RUN_KIND,
        "slot": INSTANT,
        "status": RUN_STATUS,
        "reason": nullable(TEXT),
        "started_at": nullable(INSTANT),
        "ended_at": nullable(INSTANT),
        "drift_ms": DRIFT,
    }
)

OPERATIONS: Final[Operations] = {
    ("POST", "/v1/jobs"): Operation(
        "createJob", "jobs", "Create a job", "Job", 201, example=_JOB, problems=(409, 422), description=_ONE_RUN
    ),
    ("GET", "/v1/jobs"): Operation(
        "listJobs",
        "jobs",
        "List jobs, newest first",
        "Jobs",
        query={"state": "active", "tag": "team:finance", "limit": "10"},
        description=(
            "`tag=key:value` may be repeated; a job must have them all. Runs are shown only where `last_runs` asks for "
            "them."
        ),
    ),
    ("POST", "/v1/jobs/batch"): Operation(
        "createJobs",
        "jobs",
        "Create up to 100 jobs",
        "BatchResult",
        example={"items": [_JOB, {"schedule": {"in": "PT1H"}, "target": _HANDLER}]},
        description=(
            "One transaction for each item, so some may fail while others are created. Under an Idempotency-Key a "
            "repeat creates what is missing and nothing twice."
        ),
        problems=(422,),
    ),
    ("GET", "/v1/jobs/<job_id>"): Operation("getJob", "jobs", "Show a job", "Job", path=OF_JOB, problems=(404,)),
    ("PUT", "/v1/jobs/<job_id>"): Operation(
        "putJob",
        "jobs",
        "Create a job, or make it what the body says",
        "Job",
        201,
        also=(200,),
        path={"job_id": "weekly-report"},
        example={name: value for name, value in _JOB.items() if name != "job_id"},
        description=(
            "What the body leaves out gets its default, but for `state`, which stays. Declaring what is declared "
            "already changes nothing. `If-None-Match: *` only creates, `If-Match` only changes. Without them a PUT "
            "that arrives after a DELETE makes the job anew."
        ),
        problems=(404, 409, 412),
    ),
    ("PATCH", "/v1/jobs/<job_id>"): Operation(
        "patchJob",
        "jobs",
        "Change some members of a job",
        "Job",
        body="JobPatch",
        path=OF_JOB,
        example={"schedule": {"cron": "0 3 * * *"}, "tags": {"team": None}},
        description=(
            "RFC 7396: members that are left out keep their value, null removes one. A change that moves no slot drops "
            "no slot that is owed; one that moves slots counts from when it is made."
        ),
        problems=(404, 409, 412, 422),
    ),
    ("DELETE", "/v1/jobs/<job_id>"): Operation(
        "cancelJob",
        "jobs",
        "Cancel a job",
        "Cancellation",
        path=OF_JOB,
        query={"purge": "true"},
        description=(
            "Frees the id. The cancelled job is shown for a day, so that a repeat finds its answer. With `purge` what "
            "the owner wrote into the job is gone at once, and its runs by 1,000 at each repeat until `is_done`."
        ),
        problems=(404, 409, 412),
    ),
    ("POST", "/v1/jobs/<job_id>/pause"): Operation(
        "pauseJob",
        "jobs",
        "Pause a job",
        "Job",
        path=OF_JOB,
        description=(
            "A pause stops new slots, never a run that has begun: its target is not interrupted, and its retries are "
            "made. What is asked for by hand runs all the same."
        ),
        problems=(404, 409, 412, 422),
    ),
    ("POST", "/v1/jobs/<job_id>/resume"): Operation(
        "resumeJob",
        "jobs",
        "Resume a job from now on",
        "Job",
        path=OF_JOB,
        description=(
            "What was planned or due while it was paused, and had not begun, stays left out: one `skipped` row with "
            "reason `paused` says so, and `backfills` runs it. A slot from before the pause that fires later by its "
            "window still fires."
        ),
        problems=(404, 409, 412, 422),
    ),
    ("GET", "/v1/jobs/<job_id>/explain"): Operation(
        "explainJob",
        "jobs",
        "Say why a slot ran, runs, or does not",
        "Explanation",
        path=OF_JOB,
        query={"slot": "2026-11-27T01:30:00.000Z"},
        description=(
            "Of the slot or run that is named; else of the newest run, whoever asked for it, or of the slot that "
            "should have fired since."
        ),
        problems=(404,),
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Job": record(
        {**_MEMBERS, "last_run": nullable(record({"run_id": RUN_ID_SCHEMA, "status": RUN_STATUS}))},
        about="What a user asked for: schedule, target, payload and policies.",
    ),
    "ListedJob": record(
        {**_MEMBERS, "last_runs": {"type": "array", "items": _LAST_RUN}},
        optional=("last_runs",),
        about="A job, and as many of its newest runs as were asked for.",
    ),
    "Jobs": listing(ref("ListedJob")),
    "Cancellation": record(
        {
            "outcome": CANCEL_OUTCOME,
            "run_ids": RUN_IDS,
            "run_count": COUNT,
            "purge": record({"erased_runs": COUNT, "is_done": FLAG}),
        },
        optional=("purge",),
        about=(
            "The runs that are alive; nothing else will start. `run_count` says how many there are, and `run_ids` "
            f"names up to {MAX_NAMED_RUNS} of them, those that a worker has first. A repeat answers the same."
        ),
    ),
    "BatchResult": record(
        {
            "items": {
                "type": "array",
                "items": record(
                    {"job_id": {}, "status": STATUS, "revision": COUNT, "problem": ref("Problem")},
                    optional=("revision", "problem"),
                ),
            }
        },
        about="One item for each of the request, in its order.",
    ),
    "Explanation": record(
        {
            "job_id": JOB_ID_SCHEMA,
            "run_id": nullable(RUN_ID_SCHEMA),
            "slot": INSTANT,
            "fire_at": INSTANT,
            "outcome": one_of("ran", "running", "waiting", "did_not_run", "not_due"),
            "reason": nullable(TEXT),
            "detail": TEXT,
            "drift_ms": nullable({"type": "object", "additionalProperties": {"type": "integer"}}),
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"step": TEXT, "at": nullable(INSTANT)},
                    "required": ["step", "at"],
                },
            },
        }
    ),
}
