"""Runs: listed, asked for, cancelled and run again."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import OF_JOB, Operation, Operations
from functions.api.openapi.shapes import (
    COUNT,
    DRIFT,
    FLAG,
    INSTANT,
    JOB_ID_SCHEMA,
    RUN_ID_SCHEMA,
    RUN_KIND,
    RUN_STATUS,
    TEXT,
    Schema,
    listing,
    nullable,
    one_of,
    record,
    ref,
)

_OF_RUN: Final = {**OF_JOB, "run_id": "20261127T013000000Z"}
_RUN_ERROR: Final = nullable(record({"type": TEXT, "message": TEXT}))
_HTTP_STATUS: Final = nullable({"type": "integer"}) | {
    "description": "Of the webhook's answer to the (last) attempt; null where there was none."
}
_RUN: Final = record(
    {
        "run_id": RUN_ID_SCHEMA,
        "job_id": JOB_ID_SCHEMA,
        "kind": RUN_KIND,
        "slot": INSTANT,
        "fire_at": INSTANT,
        "status": RUN_STATUS,
        "reason": nullable(TEXT),
        "attempt": COUNT,
        "fencing_token": COUNT,
        "worker_id": nullable(TEXT),
        "completion": nullable(TEXT),
        "enqueued_at": nullable(INSTANT),
        "received_at": nullable(INSTANT),
        "started_at": nullable(INSTANT),
        "ended_at": nullable(INSTANT),
        "revision": {
            **nullable(COUNT),
            "description": (
                "Of the job's definition that the newest attempt started with. Each attempt uses the definition as of "
                "its start, which its worker read at most a second before. Null before a start; shown within seconds."
            ),
        },
        "cancel_requested_at": nullable(INSTANT),
        "retry_at": nullable(INSTANT),
        "drift_ms": DRIFT,
        "http_status": _HTTP_STATUS,
        "output": nullable(TEXT),
        "error": _RUN_ERROR,
        "progress": nullable(TEXT),
        "attempts": {
            "type": "array",
            "description": (
                "An attempt whose worker dies is one too: another worker takes the run over, within 45 s with the "
                "default lease."
            ),
            "items": record(
                {
                    "attempt": COUNT,
                    "started_at": nullable(INSTANT),
                    "ended_at": nullable(INSTANT),
                    "http_status": _HTTP_STATUS,
                    "error": _RUN_ERROR,
                    "worker_id": TEXT,
                    "revision": nullable(COUNT),
                }
            ),
        },
        "gap": record({"first": INSTANT, "last": INSTANT, "count": COUNT}, about="The slots that this row stands for."),
    },
    optional=("gap",),
    about="The record of one execution of a slot.",
)

OPERATIONS: Final[Operations] = {
    ("POST", "/v1/jobs/<job_id>/runs"): Operation(
        "runJob",
        "runs",
        "Run a job now",
        "Run",
        202,
        path=OF_JOB,
        example={"payload": {"report": "by hand"}},
        description="Of a paused job too. `payload` replaces the job's for this run; left out, the job's is sent.",
        problems=(404, 409, 422),
    ),
    ("POST", "/v1/jobs/<job_id>/backfills"): Operation(
        "backfillJob",
        "runs",
        "Run past slots of a job",
        "BackfillResult",
        202,
        also=(200,),
        path=OF_JOB,
        example={"from": "2026-11-20T00:00:00.000Z", "to": "2026-11-25T00:00:00.000Z"},
        description=(
            "Of the job's schedule, paused or not, at most 100 slots at a time. A slot of a job is one run, whoever "
            "asks for it: none is planned that any attempt has started, or that the schedule may still fire, and a "
            "slot that was skipped runs in its own row. A dry run answers 200 and plans nothing."
        ),
        problems=(404, 409, 422),
    ),
    ("GET", "/v1/jobs/<job_id>/runs"): Operation(
        "listRuns",
        "runs",
        "List the runs of a job, newest first",
        "Runs",
        path=OF_JOB,
        query={"status": "failed", "kind": "scheduled", "since": "2026-11-26T00:00:00.000Z"},
        description=(
            "`status` may be repeated: a run has one of them. `since` and `until` are about the slot; of skipped slots "
            "one row stands under the first of them."
        ),
        problems=(404,),
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
            "answers 202, hears of it within some seconds and ends cancelled, whatever its target answers; until then "
            "its status is `running`, with `cancel_requested_at`."
        ),
        problems=(404, 422),
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
        description=(
            "`since` and `until` are about `ended_at`, `group` and `tag` about the job as it is now. A run that failed "
            "a moment ago may be missed."
        ),
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
            "Those that all members admit, by `group` and `tags` of their jobs too; everything only with "
            '`"all": true`. '
            "At most 100 at a time: repeat it with `cursor` until `next_cursor` is null. `rate` of them start a "
            "second, behind those of the owner's earlier redrives. A dry run answers 200 and plans nothing, and tells "
            "of starts as if nothing else were planned. Repeated with its Idempotency-Key it is about the same runs."
        ),
        problems=(422,),
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Run": _RUN,
    "Runs": listing(ref("Run")),
    "BackfillResult": record(
        {
            "dry_run": FLAG,
            "planned": COUNT,
            "items": {
                "type": "array",
                "items": record(
                    {
                        "slot": INSTANT,
                        "run_id": RUN_ID_SCHEMA,
                        "outcome": one_of("planned", "has_run", "not_settled"),
                    }
                ),
            },
            "next_from": {**nullable(INSTANT), "description": "Repeat with it as `from`; null: the range is done."},
        }
    ),
    "RedriveResult": record(
        {
            "dry_run": FLAG,
            "planned": {**COUNT, "description": "Of a dry run: how many would run again."},
            "redriven": {**COUNT, "description": "How many run again."},
            "items": {
                "type": "array",
                "items": record(
                    {
                        "job_id": JOB_ID_SCHEMA,
                        "run_id": RUN_ID_SCHEMA,
                        "starts_at": nullable(INSTANT),
                        "outcome": one_of("redriven", "planned", "job_ended", "job_paused", "changed"),
                    }
                ),
            },
            "next_cursor": nullable(TEXT),
        }
    ),
}
