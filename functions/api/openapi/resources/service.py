"""Problems, health, and the document itself."""

from __future__ import annotations

from typing import Final

from functions.api.openapi.operation import Operation, Operations
from functions.api.openapi.shapes import TEXT, Schema, one_of, record

_PROBLEM: Final = record(
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

OPERATIONS: Final[Operations] = {
    ("GET", "/v1/health"): Operation("health", "service", "Whether the API answers", "Health"),
    ("GET", "/v1/openapi.json"): Operation("openapi", "service", "This document", "OpenApi"),
}

SCHEMAS: Final[dict[str, Schema]] = {
    "Problem": _PROBLEM,
    "Health": record({"status": one_of("ok"), "version": TEXT, "tzdata": TEXT}),
    "OpenApi": {"type": "object", "required": ["openapi"]},
}
