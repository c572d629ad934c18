"""Schemas of answers. Names are those of the API's words."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.asked import SCHEDULE, TARGET
from functions.api.openapi.shapes import (
    COUNT,
    CURSOR,
    DURATION,
    FLAG,
    INSTANT,
    JOB_ID_SCHEMA,
    KEY_ID_SCHEMA,
    OWNER_ID_SCHEMA,
    RUN_ID_SCHEMA,
    TEXT,
    Schema,
    listing,
    nullable,
    one_of,
    record,
    ref,
)

_RUN_STATUS: Final = one_of("waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped")
_SCOPES: Final[Schema] = {"type": "array", "items": one_of("read", "write", "admin")}

_RUN_ERROR: Final = nullable(record({"type": TEXT, "message": TEXT}))

RUN: Final = record(
    {
        "run_id": RUN_ID_SCHEMA,
        "job_id": JOB_ID_SCHEMA,
        "kind": one_of("scheduled", "manual", "backfill", "catch_up"),
        "slot": INSTANT,
        "fire_at": INSTANT,
        "status": _RUN_STATUS,
        "reason": nullable(TEXT),
        "attempt": COUNT,
        "fencing_token": COUNT,
        "worker_id": nullable(TEXT),
        "completion": nullable(TEXT),
        "enqueued_at": nullable(INSTANT),
        "received_at": nullable(INSTANT),
        "started_at": nullable(INSTANT),
        "ended_at": nullable(INSTANT),
        "cancel_requested_at": nullable(INSTANT),
        "retry_at": nullable(INSTANT),
        "drift_ms": nullable(
            record({part: {"type": "integer"} for part in ("total", "dispatch", "queue", "claim", "start")})
        ),
        "output": nullable(TEXT),
        "error": _RUN_ERROR,
        "progress": nullable(TEXT),
        "attempts": {
            "type": "array",
            "items": record(
                {
                    "attempt": COUNT,
                    "started_at": nullable(INSTANT),
                    "ended_at": nullable(INSTANT),
                    "error": _RUN_ERROR,
                    "worker_id": TEXT,
                }
            ),
        },
        "gap": record({"first": INSTANT, "last": INSTANT, "count": COUNT}, about="The slots that this row stands for."),
    },
    optional=("gap",),
    about="The record of one execution of a slot.",
)

JOB: Final = record(
    {
        "job_id": JOB_ID_SCHEMA,
        "name": TEXT,
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
        "overlap": one_of("allow", "skip", "buffer_one", "cancel_other"),
        "max_concurrent": nullable(COUNT),
        "misfire": record(
            {"policy": one_of("fire_once", "fire_all", "skip"), "grace": nullable(DURATION), "limit": COUNT}
        ),
        "keep_after_completion": DURATION,
        "generation": COUNT,
        "revision": COUNT,
        "next_slots": {"type": "array", "items": INSTANT},
        "last_run": nullable(record({"run_id": RUN_ID_SCHEMA, "status": _RUN_STATUS})),
        "created_at": INSTANT,
        "created_by": TEXT,
        "updated_at": INSTANT,
        "updated_by": TEXT,
    },
    about="What a user asked for: schedule, target, payload and policies.",
)

PROBLEM: Final = record(
    {
        "type": {"type": "string", "format": "uri"},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "instance": {**TEXT, "description": "The id of the request, under which the log has more."},
        "errors": {
            "type": "array",
            "items": record(
                {"pointer": {**TEXT, "examples": ["#/schedule/cron"]}, "detail": TEXT, "example": {}},
                optional=("example",),
            ),
        },
    },
    optional=("errors",),
    about="RFC 9457. `errors` names each member at fault, with a value that would be accepted there.",
)

_KEY_MEMBERS: Final[dict[str, Schema]] = {
    "key_id": KEY_ID_SCHEMA,
    "name": TEXT,
    "scopes": _SCOPES,
    "created_at": INSTANT,
    "created_by": TEXT,
    "expires_at": nullable(INSTANT),
    "revoked_at": nullable(INSTANT),
}
_SIGNING_KEY_MEMBERS: Final[dict[str, Schema]] = {"key_id": KEY_ID_SCHEMA, "created_at": INSTANT, "created_by": TEXT}
_FAILED: Final[dict[str, Schema]] = {"status": {"type": "integer"}, "problem": ref("Problem")}
_OUTCOME: Final = one_of("cancelled_before_fire", "running", "already_ended")
_RUN_IDS: Final[Schema] = {"type": "array", "items": RUN_ID_SCHEMA}
_DELETED: Final = one_of("deleted")

COMPONENTS: Final[dict[str, Schema]] = {
    "Schedule": SCHEDULE,
    "Target": TARGET,
    "Job": JOB,
    "Jobs": listing(ref("Job")),
    "Run": RUN,
    "Runs": listing(ref("Run")),
    "Problem": PROBLEM,
    "Cancellation": record(
        {
            "outcome": _OUTCOME,
            "run_ids": _RUN_IDS,
            "purge": record({"erased_runs": COUNT, "is_done": FLAG}),
        },
        optional=("purge",),
        about="The runs that are alive; nothing else will start. A repeat answers the same.",
    ),
    "BatchResult": record(
        {
            "items": {
                "type": "array",
                "items": record(
                    {"job_id": {}, "status": {"type": "integer"}, "revision": COUNT, "problem": ref("Problem")},
                    optional=("revision", "problem"),
                ),
            }
        },
        about="One item for each of the request, in its order.",
    ),
    "BulkResult": record(
        {
            "changed": COUNT,
            "items": {
                "type": "array",
                "items": record(
                    {
                        "job_id": JOB_ID_SCHEMA,
                        **_FAILED,
                        "state": TEXT,
                        "outcome": _OUTCOME,
                        "run_ids": _RUN_IDS,
                    },
                    optional=("problem", "state", "outcome", "run_ids"),
                ),
            },
            "next_cursor": CURSOR,
        }
    ),
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
            "planned": COUNT,
            "items": {
                "type": "array",
                "items": record(
                    {
                        "job_id": JOB_ID_SCHEMA,
                        "run_id": RUN_ID_SCHEMA,
                        "starts_at": nullable(INSTANT),
                        "outcome": one_of("planned", "job_ended", "job_paused", "changed"),
                    }
                ),
            },
            "next_cursor": nullable(TEXT),
        }
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
    "PreviewedSlots": record(
        {
            "items": {
                "type": "array",
                "items": record(
                    {
                        "slot": INSTANT,
                        "local": TEXT,
                        "fires": FLAG,
                        "latest_fire_at": INSTANT,
                        "marks": {"type": "array", "items": TEXT},
                    }
                ),
            }
        }
    ),
    "Key": record(_KEY_MEMBERS),
    "Keys": listing(ref("Key")),
    "NewKey": record({**_KEY_MEMBERS, "key": {**TEXT, "description": "Shown once: send it as a bearer token."}}),
    "SigningKeys": listing(record(_SIGNING_KEY_MEMBERS)),
    "NewSigningKey": record({**_SIGNING_KEY_MEMBERS, "secret": {**TEXT, "description": "Shown once."}}),
    "DeletedSigningKey": record({"key_id": TEXT, "outcome": _DELETED}),
    "Grant": record(
        {
            "grant_id": KEY_ID_SCHEMA,
            "owner_id": OWNER_ID_SCHEMA,
            "target_type": TEXT,
            "resource": TEXT,
            "role_arn": nullable(TEXT),
            "created_at": INSTANT,
            "created_by": TEXT,
        }
    ),
    "Grants": listing(ref("Grant")),
    "NewGrant": record(
        {"target_type": one_of("http", "lambda", "aws", "secret"), "resource": TEXT, "role_arn": nullable(TEXT)},
        optional=("role_arn",),
        about="The ARN, the ARN that ends in `*`, or for http the host, that the owner's targets may call.",
    ),
    "DeletedGrant": record({"grant_id": TEXT, "outcome": _DELETED}),
    "Fleet": record(
        {
            "firing": FLAG,
            "shard_count": COUNT,
            "nodes": {
                "type": "array",
                "items": record(
                    {
                        "node_id": TEXT,
                        "beat": COUNT,
                        "version": TEXT,
                        "message_version": COUNT,
                        "started_at": INSTANT,
                        "shards": {"type": "array", "items": COUNT},
                    }
                ),
            },
            "shards": {
                "type": "array",
                "items": record(
                    {
                        "shard": COUNT,
                        "owner": nullable(TEXT),
                        "epoch": COUNT,
                        "watermark": nullable(INSTANT),
                        "lag_ms": nullable(COUNT),
                    }
                ),
            },
        }
    ),
    "Firing": record({"on": FLAG}),
    "OwnerErasure": record({"jobs": COUNT, "runs": COUNT, "keys": COUNT, "is_done": FLAG, "next_cursor": CURSOR}),
    "Health": record({"status": one_of("ok"), "version": TEXT, "tzdata": TEXT}),
    "OpenApi": {"type": "object", "required": ["openapi"]},
}
