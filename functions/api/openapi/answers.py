"""An answer that a schema admits, to show a reader what comes back; a test holds each against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.api.openapi.shapes import Schema
from functions.api.requests import EXAMPLE_SCHEDULE
from shared.domain.targets import EXAMPLE_TARGET

#: What stands under a name, wherever it does; any other member follows from its schema.
_MEMBERS: Final[Mapping[str, Any]] = {
    "job_id": "nightly-report",
    "group": "billing",
    "tags": {"team": "finance"},
    "schedule": EXAMPLE_SCHEDULE,
    "target": EXAMPLE_TARGET,
    "payload": {"report": "daily"},
    "lane": "default",
    "factor": 2,
    "retry_on": ["5xx", "timeout"],
    "never_on": ["4xx"],
    "created_by": "key:crl_a1b2c3d4e5f6",
    "updated_by": "key:crl_a1b2c3d4e5f6",
    "worker_id": "worker-1",
    "node_id": "node-1",
    "owner": "node-1",
    "drift_ms": {"total": 4, "dispatch": 0, "queue": 0, "claim": 0, "start": 4},
    "completion": "done",
    "http_status": 200,
    "output": "sent to 3 readers",
    "version": "0.1.0",
    "tzdata": "2026.3",
    "openapi": "3.1.0",
    "local": "2026-11-27T02:30:00+01:00",
    "marks": [],
    "key": "crl_a1b2c3d4e5f6_0oUY0xXr0mJYdFZ2v4T8m4i5u0k3h1c9b7a6s5d4f3g",
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "target_type": "lambda",
    "resource": "arn:aws:lambda:eu-central-1:123456789012:function:report",
    "step": "started",
    "dry_run": False,
    "timeout": "PT60S",
    "max_attempts": 5,
    "base": "PT2S",
    "cap": "PT1H",
    "max_age": "P1D",
    "grace": "PT60S",
    "keep_after_completion": "P7D",
    "detail": "",
}
#: Empty until something happens.
_NULL: Final = frozenset({
    "cancel_requested_at", "error", "expires_at", "max_concurrent", "next_cursor", "next_from", "progress", "reason",
    "retry_at", "revoked_at", "role_arn", "state_reason",
})  # fmt: skip
_OF_TYPE: Final[Mapping[str, Any]] = {"string": "text", "integer": 1, "number": 1, "boolean": True}


def example_of(schema: Schema, components: Mapping[str, Schema], name: str = "") -> Any:
    """`name` is that of the member which the schema is of."""
    if name in _NULL:
        return None
    if name in _MEMBERS:
        return _MEMBERS[name]
    match schema:
        case {"$ref": str() as reference}:
            return example_of(components[reference.rpartition("/")[2]], components)
        case {"examples": [first, *_]} | {"enum": [first, *_]}:
            return first
        case {"anyOf": [first, *_]}:
            return example_of(first, components)
        case _:
            return _made(schema, components)


def _made(schema: Schema, components: Mapping[str, Schema]) -> Any:
    kinds = schema.get("type", "object")
    kind = kinds[0] if isinstance(kinds, list) else kinds
    if kind == "array":
        return [example_of(schema["items"], components)]
    if kind == "object":
        # What may be missing is left out.
        members = schema.get("properties", {})
        return {
            member: example_of(members.get(member, {}), components, member) for member in schema.get("required", ())
        }
    return _OF_TYPE[kind]
