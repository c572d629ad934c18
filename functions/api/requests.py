"""What a request may hold. Unknown members are refused, and no value is turned into another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from shared.domain.access import Scope
from shared.domain.durations import format_duration
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.job import DEFAULT_RETRY
from shared.domain.limits import (
    JOB_ID,
    MAX_ATTEMPTS,
    MAX_BACKFILL,
    MAX_BATCH,
    MAX_BULK,
    MAX_CATCH_UP,
    MAX_CONCURRENT,
    MAX_GROUP_LENGTH,
    MAX_NAME_LENGTH,
    MAX_PAGE,
    MAX_PREVIEW,
    MAX_REDRIVE,
    MAX_REDRIVE_RATE,
    MAX_RETRY_FACTOR,
    MAX_TAG_KEY_LENGTH,
    MAX_TAG_VALUE_LENGTH,
    MAX_TAGS,
    MIN_REDRIVE_RATE,
    UNSENDABLE,
)
from shared.domain.targets import EXAMPLE_TARGET

Limit = Annotated[int, Query(), Field(ge=1, le=MAX_PAGE)]
Cursor = Annotated[str | None, Query()]


def _sendable(text: str) -> str:
    if found := UNSENDABLE.search(text):
        detail = f"the character {found.group()!a} at position {found.start()} cannot be sent through SQS"
        raise PydanticCustomError("unsendable", "{detail}", {"detail": detail})
    return text


#: `/v1/jobs/batch` is a route of its own, and clients remove dots that stand alone from a path.
_RESERVED: Final = frozenset({"batch", ".", ".."})
_JOB_ID_RULE: Final = "a job_id has 1 to 64 characters out of A-Z a-z 0-9 _ . and -, and is not batch, . or .."


def is_job_id(text: str) -> bool:
    return JOB_ID.fullmatch(text) is not None and text not in _RESERVED


def _job_id(text: str) -> str:
    if not is_job_id(text):
        raise PydanticCustomError("job_id", "{detail}", {"detail": _JOB_ID_RULE})
    return text


def check_job_id(text: str) -> None:
    """Raises InvalidRequest."""
    if not is_job_id(text):
        raise InvalidRequest(FieldProblem("#/job_id", _JOB_ID_RULE, EXAMPLES["#/job_id"]))


Name = Annotated[str, Field(max_length=MAX_NAME_LENGTH), AfterValidator(_sendable)]
Group = Annotated[str, Field(max_length=MAX_GROUP_LENGTH), AfterValidator(_sendable)]
TagKey = Annotated[str, Field(min_length=1, max_length=MAX_TAG_KEY_LENGTH), AfterValidator(_sendable)]
TagValue = Annotated[str, Field(max_length=MAX_TAG_VALUE_LENGTH), AfterValidator(_sendable)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RetryDocument(Strict):
    """An empty `retry_on` stands for everything that may mend itself."""

    max_attempts: int = Field(default=DEFAULT_RETRY.max_attempts, ge=1, le=MAX_ATTEMPTS)
    base: str = format_duration(DEFAULT_RETRY.base_ms)
    factor: float = Field(default=DEFAULT_RETRY.factor, ge=1, le=MAX_RETRY_FACTOR)
    cap: str = format_duration(DEFAULT_RETRY.cap_ms)
    max_age: str = format_duration(DEFAULT_RETRY.max_age_ms)
    retry_on: list[str] = []
    never_on: list[str] = []


class MisfireDocument(Strict):
    """A grace is a second at least, and null is for ever. Left out, it is the gap to the next slot, from a second to a
    minute; for a one-time job it is for ever.
    """

    policy: Literal["fire_once", "fire_all", "skip"] = "fire_once"
    grace: str | None = None
    limit: int = Field(default=10, ge=1, le=MAX_CATCH_UP)


class CreateJob(Strict):
    """`schedule` and `target` are read by the domain, which knows their rules."""

    job_id: Annotated[str, AfterValidator(_job_id)] | None = None
    name: Name = ""
    group: Group = ""
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MAX_TAGS)] = {}
    state: Literal["active", "paused"] = "active"
    schedule: dict[str, Any]
    target: dict[str, Any]
    payload: Any = None
    #: Left out, it is `default`, or `long` where the timeout asks for it.
    lane: str | None = None
    timeout: str = "PT60S"
    retry: RetryDocument = RetryDocument()
    overlap: Literal["allow", "skip", "buffer_one", "cancel_other"] = "allow"
    max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] | None = None
    misfire: MisfireDocument = MisfireDocument()
    keep_after_completion: str = "P7D"


class CreateBatch(Strict):
    """Each item is read by itself, so that one that is wrong does not hinder the others."""

    items: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_BATCH)]


class SelectJobs(Strict):
    """The jobs of a group, or with all of the tags, or both."""

    group: Group | None = None
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MAX_TAGS)] = {}
    limit: int = Field(default=MAX_BULK, ge=1, le=MAX_BULK)
    cursor: str | None = None


class RunNow(Strict):
    """`payload` replaces the job's for this run; left out, the job's is sent."""

    payload: Any = None


class Backfill(Strict):
    """Slots with from <= slot < to; `to` is now when it is left out."""

    since: str = Field(alias="from")
    to: str | None = None
    dry_run: bool = False
    limit: int = Field(default=MAX_BACKFILL, ge=1, le=MAX_BACKFILL)


class RedriveRuns(Strict):
    """The failed runs that all of job_id, error_type, group, tags, since <= ended_at < until admit; with none of these,
    and with `all`, everything of the owner's that failed. `rate` is of starts a second.
    """

    job_id: Annotated[str, AfterValidator(_job_id)] | None = None
    error_type: Annotated[str, Field(max_length=128)] | None = None
    group: Group | None = None
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MAX_TAGS)] = {}
    since: str | None = None
    until: str | None = None
    is_all: bool = Field(default=False, alias="all")
    rate: float = Field(default=10, ge=MIN_REDRIVE_RATE, le=MAX_REDRIVE_RATE)
    dry_run: bool = False
    limit: int = Field(default=MAX_REDRIVE, ge=1, le=MAX_REDRIVE)
    cursor: str | None = None


class EraseOwner(Strict):
    """`cursor` is that of the last answer."""

    cursor: str | None = None


class CreateKey(Strict):
    name: Name = ""
    scopes: Annotated[list[Literal["read", "write", "admin"]], Field(min_length=1, max_length=len(Scope))]
    expires_at: str | None = None


class SetFiring(Strict):
    on: bool


class PreviewSchedule(Strict):
    """`after`, now when it is left out, and `until` are exclusive; `count` may end it sooner."""

    schedule: dict[str, Any]
    count: int = Field(default=10, ge=1, le=MAX_PREVIEW)
    after: str | None = None
    until: str | None = None


#: What an answer shows and a request cannot set.
READ_ONLY: Final = frozenset({
    "state_reason", "generation", "revision", "next_slots", "last_run", "created_at", "created_by", "updated_at",
    "updated_by",
})  # fmt: skip

EXAMPLE_SCHEDULE: Final = {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"}
#: A value that would be accepted, by pointer.
EXAMPLES: Final[Mapping[str, object]] = {
    "#": {"schedule": EXAMPLE_SCHEDULE, "target": EXAMPLE_TARGET},
    "#/job_id": "nightly-report",
    "#/name": "Nightly report",
    "#/group": "billing",
    "#/tags": {"team": "finance"},
    "#/state": "active",
    "#/schedule": EXAMPLE_SCHEDULE,
    "#/target": EXAMPLE_TARGET,
    "#/payload": {"report": "daily"},
    "#/lane": "default",
    "#/timeout": "PT60S",
    "#/retry": {"max_attempts": 3, "retry_on": ["5xx", "timeout"]},
    "#/retry/max_attempts": 3,
    "#/retry/base": "PT2S",
    "#/retry/factor": 2,
    "#/retry/cap": "PT1H",
    "#/retry/max_age": "P1D",
    "#/retry/retry_on": ["5xx", "timeout"],
    "#/retry/never_on": ["4xx"],
    "#/error_type": "http_5xx",
    "#/since": "2026-11-26T00:00:00.000Z",
    "#/until": "2026-11-27T00:00:00.000Z",
    "#/rate": 10,
    "#/status": "failed",
    "#/overlap": "allow",
    "#/max_concurrent": 3,
    "#/misfire": {"policy": "fire_once", "grace": "PT60S"},
    "#/misfire/policy": "fire_once",
    "#/misfire/grace": "PT60S",
    "#/misfire/limit": 10,
    "#/keep_after_completion": "P7D",
    "#/count": 10,
    "#/after": "2026-11-27T01:30:00.000Z",
    "#/limit": 50,
    "#/tag": "team:finance",
    "#/from": "2026-11-26T00:00:00.000Z",
    "#/to": "2026-11-27T00:00:00.000Z",
    "#/dry_run": True,
    "#/slot": "2026-11-27T01:30:00.000Z",
    "#/scopes": ["read", "write"],
    "#/expires_at": "2027-11-27T01:30:00.000Z",
    "#/on": False,
    "#/all": True,
    "#/items": [{"schedule": EXAMPLE_SCHEDULE, "target": EXAMPLE_TARGET}],
}
