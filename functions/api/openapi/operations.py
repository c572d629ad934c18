"""What each route is for, what it answers when all is well, and a request that works: executed by a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from functions.api.requests import EXAMPLE_SCHEDULE

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


@dataclass(frozen=True, slots=True)
class Operation:
    """`answer` names the schema of the answer of status `status`; `also` are other statuses with the same schema."""

    name: str
    tag: str
    summary: str
    answer: str
    status: int = 200
    also: tuple[int, ...] = ()
    description: str = ""
    #: The schema of the body, where it is not the one of the route's model.
    body: str | None = None
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    example: Any = None
    #: Problems beyond those that every route has.
    problems: tuple[int, ...] = ()


_OF_JOB: Final = {"job_id": "nightly-report"}
_OF_RUN: Final = {**_OF_JOB, "run_id": "20261127T013000000Z"}
_SELECTED: Final = {"group": "billing"}
_SELECT: Final = (
    "At most 100 jobs at a time: repeat it with `cursor` until `next_cursor` is null. A job created a moment ago may "
    "be missed."
)

OPERATIONS: Final[Mapping[tuple[str, str], Operation]] = {
    ("POST", "/v1/jobs"): Operation("createJob", "jobs", "Create a job", "Job", 201, example=_JOB, problems=(409, 422)),
    ("GET", "/v1/jobs"): Operation(
        "listJobs",
        "jobs",
        "List jobs, newest first",
        "Jobs",
        query={"state": "active", "tag": "team:finance", "limit": "10"},
        description="`tag=key:value` may be repeated; a job must have them all.",
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
    ("POST", "/v1/jobs:pause"): Operation(
        "pauseJobs", "bulk", "Pause the jobs of a group or tag", "BulkResult", example=_SELECTED, description=_SELECT
    ),
    ("POST", "/v1/jobs:resume"): Operation(
        "resumeJobs", "bulk", "Resume the jobs of a group or tag", "BulkResult", example=_SELECTED, description=_SELECT
    ),
    ("POST", "/v1/jobs:cancel"): Operation(
        "cancelJobs",
        "bulk",
        "Cancel the jobs of a group or tag",
        "BulkResult",
        example={"tags": {"team": "finance"}, "limit": 50},
        description=_SELECT,
    ),
    ("GET", "/v1/jobs/<job_id>"): Operation("getJob", "jobs", "Show a job", "Job", path=_OF_JOB, problems=(404,)),
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
            "What the body leaves out gets its default, but for `state`, which stays. `If-None-Match: *` only creates, "
            "`If-Match` only changes."
        ),
        problems=(404, 409, 412),
    ),
    ("PATCH", "/v1/jobs/<job_id>"): Operation(
        "patchJob",
        "jobs",
        "Change some members of a job",
        "Job",
        body="JobPatch",
        path=_OF_JOB,
        example={"schedule": {"cron": "0 3 * * *"}, "tags": {"team": None}},
        description="RFC 7396: members that are left out keep their value, null removes one.",
        problems=(404, 409, 412, 422),
    ),
    ("DELETE", "/v1/jobs/<job_id>"): Operation(
        "cancelJob",
        "jobs",
        "Cancel a job",
        "Cancellation",
        path=_OF_JOB,
        query={"purge": "true"},
        description=(
            "Frees the id. The cancelled job is shown for a day, so that a repeat finds its answer. With `purge` what "
            "the owner wrote into the job is gone at once, and its runs by 1,000 at each repeat until `is_done`."
        ),
        problems=(404, 409, 412),
    ),
    ("POST", "/v1/jobs/<job_id>/pause"): Operation(
        "pauseJob", "jobs", "Pause a job", "Job", path=_OF_JOB, problems=(404, 409, 412, 422)
    ),
    ("POST", "/v1/jobs/<job_id>/resume"): Operation(
        "resumeJob",
        "jobs",
        "Resume a job from now on",
        "Job",
        path=_OF_JOB,
        description="What was missed while it was paused stays missed; `backfills` runs it.",
        problems=(404, 409, 412, 422),
    ),
    ("GET", "/v1/jobs/<job_id>/explain"): Operation(
        "explainJob",
        "jobs",
        "Say why a slot ran, runs, or does not",
        "Explanation",
        path=_OF_JOB,
        query={"slot": "2026-11-27T01:30:00.000Z"},
        description="Of the slot or run that is named; else of the one that should have run last.",
        problems=(404,),
    ),
    ("POST", "/v1/jobs/<job_id>/runs"): Operation(
        "runJob",
        "runs",
        "Run a job now",
        "Run",
        202,
        path=_OF_JOB,
        example={"payload": {"report": "by hand"}},
        description="`payload` replaces the job's for this run; left out, the job's is sent.",
        problems=(404, 409, 422),
    ),
    ("POST", "/v1/jobs/<job_id>/backfills"): Operation(
        "backfillJob",
        "runs",
        "Run past slots of a job",
        "BackfillResult",
        202,
        also=(200,),
        path=_OF_JOB,
        example={"from": "2026-11-20T00:00:00.000Z", "to": "2026-11-25T00:00:00.000Z"},
        description=(
            "Of the job's schedule, at most 100 slots at a time; never one that has run or that the schedule may still "
            "fire. A dry run answers 200 and plans nothing."
        ),
        problems=(404, 409),
    ),
    ("GET", "/v1/jobs/<job_id>/runs"): Operation(
        "listRuns", "runs", "List the runs of a job, newest first", "Runs", path=_OF_JOB, problems=(404,)
    ),
    ("GET", "/v1/jobs/<job_id>/runs/<run_id>"): Operation(
        "getRun", "runs", "Show a run", "Run", path=_OF_RUN, problems=(404,)
    ),
    ("POST", "/v1/jobs/<job_id>/runs/<run_id>/cancel"): Operation(
        "cancelRun",
        "runs",
        "Cancel a run",
        "Run",
        200,
        also=(202,),
        path=_OF_RUN,
        description=(
            "A run that waits is cancelled at once; one that has ended stays as it is. One that a worker has, which "
            "answers 202, hears of it within some seconds and ends cancelled, whatever its target answers."
        ),
        problems=(404,),
    ),
    ("POST", "/v1/jobs/<job_id>/runs/<run_id>/retry"): Operation(
        "retryRun",
        "runs",
        "Run a run again",
        "Run",
        202,
        path=_OF_RUN,
        description=(
            "The same run under a higher fencing token, with the job as it is now; its retry policy counts anew. Of a "
            "run that waits for its next attempt it ends the wait."
        ),
        problems=(404, 409, 422),
    ),
    ("GET", "/v1/runs"): Operation(
        "listFailedRuns",
        "runs",
        "List the owner's failed runs, newest first",
        "Runs",
        query={"status": "failed", "error_type": "http_5xx", "limit": "10"},
        description="`since` and `until` are about `ended_at`. A run that failed a moment ago may be missed.",
    ),
    ("POST", "/v1/redrives"): Operation(
        "redriveRuns",
        "runs",
        "Run failed runs again",
        "RedriveResult",
        202,
        also=(200,),
        example={"error_type": "http_5xx", "since": "2026-11-26T00:00:00.000Z", "rate": 5},
        description=(
            "At most 100 at a time: repeat it with `cursor` until `next_cursor` is null. `rate` of them start a "
            "second, behind those of the owner's earlier redrives. A dry run answers 200 and plans nothing, and tells "
            "of starts as if nothing else were planned."
        ),
    ),
    ("POST", "/v1/schedules/preview"): Operation(
        "previewSchedule",
        "schedules",
        "Show what a schedule would do",
        "PreviewedSlots",
        example={"schedule": EXAMPLE_SCHEDULE, "count": 5},
    ),
    ("GET", "/v1/keys"): Operation("listKeys", "access", "List the owner's API keys", "Keys"),
    ("POST", "/v1/keys"): Operation(
        "createKey",
        "access",
        "Create an API key",
        "NewKey",
        201,
        example={"name": "deploy", "scopes": ["read", "write"], "expires_at": "2027-11-27T00:00:00.000Z"},
        description=(
            "With no scope that the caller has not. The key is shown once: a repeat under the same Idempotency-Key "
            "makes none, and answers 409 with the id of the first."
        ),
        problems=(409, 422),
    ),
    ("DELETE", "/v1/keys/<key_id>"): Operation(
        "revokeKey", "access", "Revoke an API key", "Key", path={"key_id": "a1b2c3d4e5f6"}, problems=(404,)
    ),
    ("GET", "/v1/signing-keys"): Operation(
        "listSigningKeys", "access", "List the keys that sign the owner's webhooks", "SigningKeys"
    ),
    ("POST", "/v1/signing-keys"): Operation(
        "createSigningKey",
        "access",
        "Create a key that signs webhooks",
        "NewSigningKey",
        201,
        description="Two may live at once, and both sign, so that receivers change keys without losing a call.",
        problems=(409, 422),
    ),
    ("DELETE", "/v1/signing-keys/<key_id>"): Operation(
        "deleteSigningKey",
        "access",
        "Delete a key that signs webhooks",
        "DeletedSigningKey",
        path={"key_id": "a1b2c3d4e5f6"},
        problems=(404,),
    ),
    ("GET", "/v1/grants"): Operation("listGrants", "access", "List what the owner's targets may call", "Grants"),
    ("POST", "/v1/grants"): Operation(
        "createGrant",
        "access",
        "Let an owner's targets call something (admin)",
        "Grant",
        201,
        body="NewGrant",
        query={"owner_id": "acme"},
        example={"target_type": "lambda", "resource": "arn:aws:lambda:eu-central-1:123456789012:function:report"},
        problems=(409, 422),
    ),
    ("DELETE", "/v1/grants/<grant_id>"): Operation(
        "deleteGrant",
        "access",
        "Take a grant back (admin)",
        "DeletedGrant",
        path={"grant_id": "a1b2c3d4e5f6"},
        query={"owner_id": "acme"},
        problems=(404,),
    ),
    ("GET", "/v1/fleet"): Operation("showFleet", "fleet", "Show nodes, shards and watermarks (admin)", "Fleet"),
    ("PUT", "/v1/fleet/firing"): Operation(
        "setFiring",
        "fleet",
        "The brake: let nobody dispatch, or let all dispatch again (admin)",
        "Firing",
        example={"on": True},
        description="Obeyed within two seconds. What was dispatched before still runs.",
    ),
    ("POST", "/v1/owners/<owner_id>/erase"): Operation(
        "eraseOwner",
        "fleet",
        "Erase everything an owner wrote (admin)",
        "OwnerErasure",
        path={"owner_id": "acme"},
        example={},
        description="Bounded: repeat it, with `cursor` while there is a `next_cursor`, until `is_done`.",
        problems=(409,),
    ),
    ("GET", "/v1/health"): Operation("health", "service", "Whether the API answers", "Health"),
    ("GET", "/v1/openapi.json"): Operation("openapi", "service", "This document", "OpenApi"),
}
