"""The words that schemas are written in."""

from __future__ import annotations

from typing import Any, Final

from shared.domain.limits import JOB_ID, OWNER_ID, RUN_ID

Schema = dict[str, Any]

INSTANT: Final[Schema] = {"type": "string", "format": "date-time", "examples": ["2026-11-27T01:30:00.000Z"]}
DURATION: Final[Schema] = {"type": "string", "pattern": "^P", "examples": ["PT90S", "P1D"]}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
TEXT: Final[Schema] = {"type": "string"}
FLAG: Final[Schema] = {"type": "boolean"}
CURSOR: Final[Schema] = {"type": ["string", "null"], "description": "Pass it as `cursor` to go on; null: that was all."}

UNREADABLE: Final[Schema] = {
    "type": "array",
    "items": TEXT,
    "description": "Only where a row of this page cannot be read by this version: their ids. The list goes on without.",
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    kind = schema.get("type")
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def record(properties: dict[str, Schema], *, optional: tuple[str, ...] = (), about: str = "") -> Schema:
    """An object with exactly these members; all but the optional ones are always there."""
    schema: Schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
    return {"description": about, **schema} if about else schema


def listing(item: Schema) -> Schema:
    about = "A page may be short or empty while `next_cursor` is set."
    return record(
        {"items": {"type": "array", "items": item}, "next_cursor": CURSOR, "unreadable": UNREADABLE},
        about=about,
        optional=("unreadable",),
    )


def one_of(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def full(pattern: str) -> str:
    return f"^(?:{pattern})$"


JOB_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": full(JOB_ID.pattern), "examples": ["nightly-report"]}
RUN_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": full(RUN_ID.pattern), "examples": ["20261127T013000000Z"]}
OWNER_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": full(OWNER_ID.pattern), "examples": ["acme"]}
KEY_ID_SCHEMA: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{12}$", "examples": ["a1b2c3d4e5f6"]}
RUN_IDS: Final[Schema] = {"type": "array", "items": RUN_ID_SCHEMA}
RUN_STATUS: Final[Schema] = {
    **one_of("waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"),
    "examples": ["succeeded"],
}
RUN_KIND: Final = one_of("scheduled", "manual", "backfill", "catch_up")
DRIFT: Final = nullable(
    record({part: {"type": "integer"} for part in ("total", "dispatch", "queue", "claim", "start")})
)
#: Of one item of many.
STATUS: Final[Schema] = {"type": "integer", "examples": [200]}
CANCEL_OUTCOME: Final = one_of("cancelled_before_fire", "running", "already_ended")
