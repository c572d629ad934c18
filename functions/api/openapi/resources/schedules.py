"""Schedules and targets, which the domain reads itself."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operation, Operations
from functions.api.openapi.shapes import DURATION, FLAG, INSTANT, TEXT, Schema, nullable, one_of, record
from functions.api.requests import EXAMPLE_SCHEDULE
from shared.domain.limits import MAX_CRON_LENGTH, MAX_EXCLUDED_DATES, MAX_RUNS, MAX_URL_LENGTH

_OPTIONS: Final[dict[str, Schema]] = {
    "start_at": nullable(INSTANT),
    "end_at": nullable(INSTANT),
    "max_runs": {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": MAX_RUNS,
        "description": (
            "Counts planned slots, whatever became of each (late, failed, left out in a pause), and goes on counting "
            "over changes that keep the kind of the schedule."
        ),
    },
    "window": nullable(DURATION),
    "exclude": {
        "type": ["array", "null"],
        "maxItems": MAX_EXCLUDED_DATES,
        "items": record({"date": {"type": "string", "format": "date"}, "reason": TEXT}, optional=("reason",)),
    },
}


def _kind(name: str, own: dict[str, Schema], about: str) -> Schema:
    return {
        "description": about,
        "type": "object",
        "properties": {**own, **_OPTIONS},
        "required": [name],
        "additionalProperties": False,
    }


_SCHEDULE: Final[Schema] = {
    "description": "Exactly one of `at`, `in`, `cron` and `every`; the other members are options.",
    "oneOf": [
        _kind("at", {"at": TEXT, "timezone": TEXT}, "Once: an instant, or a local time with its timezone."),
        _kind("in", {"in": DURATION}, "Once, from now; stored as `at`."),
        _kind(
            "cron",
            {
                "cron": {"type": "string", "maxLength": MAX_CRON_LENGTH, "examples": ["30 2 * * MON-FRI"]},
                "timezone": {"type": "string", "examples": ["Europe/Berlin"]},
                "dst": nullable(one_of("run", "skip")),
                "seconds": nullable(FLAG),
            },
            "Five fields as in Unix, `@daily` and the like, or AWS `cron(...)` and `rate(...)`.",
        ),
        _kind(
            "every",
            {"every": DURATION, "anchor": nullable(INSTANT)},
            "A fixed interval from an anchor; without one from `start_at`, or else from now.",
        ),
    ],
}

_TEMPLATES: Final[Schema] = {
    "type": "boolean",
    "default": True,
    "description": "Whether placeholders such as {{run_id}} are replaced in what is sent, where {{{{ stands for {{. "
    "With false, every text is sent as it is.",
}
_HANDLER_NAME: Final[Schema] = {
    "type": "string",
    "description": "One that the workers have; another is refused where the API knows which they are.",
    "examples": ["echo"],
}
_TARGET: Final[Schema] = {
    "description": "What a run calls.",
    "oneOf": [
        {
            "type": "object",
            "properties": {
                "type": {"const": "http"},
                "url": {"type": "string", "maxLength": MAX_URL_LENGTH, "examples": ["https://example.com/hook"]},
                "templates": _TEMPLATES,
            },
            "required": ["type", "url"],
            "description": (
                "Sent once an attempt, on a connection of its own, path and query byte for byte; without a payload it"
                " has no body. The first final status counts. To another origin a redirect takes no headers of the job."
            ),
        },
        {
            "type": "object",
            "properties": {
                "type": {"const": "lambda"},
                "function_arn": TEXT,
                "invocation": one_of("sync", "async"),
                "templates": _TEMPLATES,
            },
            "required": ["type", "function_arn"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"type": {"const": "handler"}, "name": _HANDLER_NAME},
            "required": ["type", "name"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "type": {"const": "aws"},
                "service": TEXT,
                "operation": TEXT,
                "parameters": {"type": "object"},
                "templates": _TEMPLATES,
            },
            "required": ["type", "service", "operation"],
            "additionalProperties": False,
        },
    ],
}

OPERATIONS: Final[Operations] = {
    ("POST", "/v1/schedules/preview"): Operation(
        "previewSchedule",
        "schedules",
        "Show what a schedule would do",
        "PreviewedSlots",
        description="The first `count` slots later than `after`, of which those earlier than `until` are shown.",
        example={"schedule": EXAMPLE_SCHEDULE, "count": 5},
    ),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Schedule": _SCHEDULE,
    "Target": _TARGET,
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
}
