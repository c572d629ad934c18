"""Parameters of operations, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.api.openapi.operation import Operation
from functions.api.openapi.shapes import (
    FLAG,
    INSTANT,
    JOB_ID_SCHEMA,
    KEY_ID_SCHEMA,
    OWNER_ID_SCHEMA,
    RUN_ID_SCHEMA,
    RUN_KIND,
    RUN_STATUS,
    TEXT,
    Schema,
    one_of,
)
from functions.api.routing import Route
from shared.domain.limits import (
    DEFAULT_PAGE,
    MAX_GROUP_LENGTH,
    MAX_IDEMPOTENCY_KEY_LENGTH,
    MAX_LAST_RUNS,
    MAX_NAME_LENGTH,
    MAX_PAGE,
)

IN_PATH: Final[Mapping[str, Schema]] = {
    "job_id": JOB_ID_SCHEMA,
    "run_id": RUN_ID_SCHEMA,
    "key_id": KEY_ID_SCHEMA,
    "grant_id": KEY_ID_SCHEMA,
    "owner_id": OWNER_ID_SCHEMA,
}
IN_QUERY: Final[Mapping[str, Schema]] = {
    "state": one_of("active", "paused", "completed", "cancelled"),
    "group": {"type": "string", "maxLength": MAX_GROUP_LENGTH},
    "tag": {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:"}},
    "name_prefix": {"type": "string", "maxLength": MAX_NAME_LENGTH},
    "cursor": TEXT,
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": DEFAULT_PAGE},
    "purge": {**FLAG, "default": False},
    "slot": INSTANT,
    "run_id": RUN_ID_SCHEMA,
    "owner_id": OWNER_ID_SCHEMA,
    "status": one_of("failed"),
    "job_id": JOB_ID_SCHEMA,
    "error_type": TEXT,
    "since": INSTANT,
    "until": INSTANT,
    "kind": RUN_KIND,
    "last_runs": {"type": "integer", "minimum": 0, "maximum": MAX_LAST_RUNS, "default": 0},
}
#: Where a name means something else.
_ELSEWHERE: Final[Mapping[tuple[str, str], Schema]] = {
    ("listRuns", "status"): {"type": "array", "items": RUN_STATUS},
}
_ABOUT: Final[Mapping[str, str]] = {
    "cursor": "`next_cursor` of the page before.",
    "last_runs": "So many of each job's newest runs are shown with it; each job costs a query then.",
    "owner_id": "Whose things to act on; needs scope admin unless it is the caller's own.",
    "purge": "Erase the job's runs too.",
    "tag": "`key:value`; may be repeated.",
}
#: Changes that an Idempotency-Key makes happen once; elsewhere a repeat does nothing by itself.
_KEYED: Final = frozenset({
    "createJob", "createJobs", "patchJob", "pauseJob", "resumeJob", "pauseJobs", "resumeJobs", "cancelJobs", "runJob",
    "backfillJob", "cancelRun", "retryRun", "redriveRuns", "createKey", "createSigningKey", "createGrant", "eraseOwner",
})  # fmt: skip
_CONDITIONAL: Final = frozenset({"putJob", "patchJob", "cancelJob", "pauseJob", "resumeJob"})


def parameters_of(route: Route, operation: Operation) -> list[dict[str, Any]]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": IN_PATH[name], "example": operation.path[name]}
        for name in route.parameters
    ]
    names = route.query if route.scope is None else (*route.query, "owner_id")
    for name in names:
        schema = _ELSEWHERE.get((operation.name, name), IN_QUERY[name])
        parameter: dict[str, Any] = {"name": name, "in": "query", "schema": schema}
        if name in _ABOUT:
            parameter["description"] = _ABOUT[name]
        if name in operation.query:
            example = operation.query[name]
            parameter["example"] = [example] if schema.get("type") == "array" else _typed(example)
        found.append(parameter)
    return found + _headers_of(operation)


def _headers_of(operation: Operation) -> list[dict[str, Any]]:
    found = []
    if operation.name in _KEYED:
        schema = {"type": "string", "pattern": "^[\\x21\\x23-\\x7e]+$", "maxLength": MAX_IDEMPOTENCY_KEY_LENGTH}
        about = (
            "Kept for 24 hours: a repeat by the same caller under the same key changes nothing, also where the first "
            "request found nothing to do."
        )
        found.append({"name": "Idempotency-Key", "in": "header", "description": about, "schema": schema})
    if operation.name in _CONDITIONAL:
        schema = {"type": "string", "examples": ['"3"']}
        about = "An ETag: change the job only if it is at this revision."
        found.append({"name": "If-Match", "in": "header", "description": about, "schema": schema})
    if operation.name == "putJob":
        about = "Only create the job."
        found.append({"name": "If-None-Match", "in": "header", "description": about, "schema": one_of("*")})
    return found


def _typed(text: str) -> Any:
    if text in {"true", "false"}:
        return text == "true"
    return int(text) if text.isdigit() else text
