"""Jobs as requests take them and answers show them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from carillon.client.run_documents import BriefRun
from carillon.client.schedules import Duration, Schedule

State = Literal["active", "paused", "completed", "cancelled"]
Outcome = Literal["cancelled_before_fire", "running", "already_ended"]


class Retry(TypedDict, total=False):
    """Durations are ISO 8601; in requests, a timedelta will do."""

    max_attempts: int
    base: Duration
    factor: float
    cap: Duration
    max_age: Duration
    retry_on: list[str]
    never_on: list[str]


class Misfire(TypedDict, total=False):
    """A `grace` of None is for ever."""

    policy: Literal["fire_once", "fire_all", "skip"]
    grace: Duration | None
    limit: int


class JobOptions(TypedDict, total=False):
    """What a job may say besides what it does and when; the API's documentation has the defaults."""

    name: str
    group: str
    tags: dict[str, str]
    state: Literal["active", "paused"]
    payload: Any
    lane: str
    timeout: Duration
    retry: Retry
    overlap: Literal["allow", "skip", "buffer_one", "cancel_other"]
    max_concurrent: int | None
    misfire: Misfire
    keep_after_completion: Duration


class JobDefinition(JobOptions):
    """All that a user sets, but for the id."""

    schedule: Schedule
    target: dict[str, Any]


class NewJob(JobDefinition):
    """For `create_jobs`. Without a job_id the API makes one."""

    job_id: NotRequired[str]


class JobChanges(TypedDict, total=False):
    """RFC 7396: what is left out stays, None removes, objects are merged."""

    name: str | None
    group: str | None
    tags: dict[str, str | None] | None
    payload: Any
    schedule: Schedule
    target: dict[str, Any]
    lane: str | None
    timeout: Duration | None
    retry: Retry | None
    overlap: Literal["allow", "skip", "buffer_one", "cancel_other"] | None
    max_concurrent: int | None
    misfire: Misfire | None
    keep_after_completion: Duration | None


class LastRun(TypedDict):
    run_id: str
    status: str


class _Shown(TypedDict):
    """Instants are RFC 3339 in UTC, which `datetime.fromisoformat` reads."""

    job_id: str
    name: str
    group: str
    tags: dict[str, str]
    state: State
    #: Why Carillon itself paused the job.
    state_reason: str | None
    schedule: Schedule
    target: dict[str, Any]
    payload: Any
    lane: str
    timeout: str
    retry: Retry
    overlap: str
    max_concurrent: int | None
    misfire: Misfire
    keep_after_completion: str
    generation: int
    #: For `if_match`.
    revision: int
    next_slots: list[str]
    created_at: str
    created_by: str
    updated_at: str
    updated_by: str


class Job(_Shown):
    last_run: LastRun | None


class ListedJob(_Shown):
    """With its newest runs, newest first, where they were asked for."""

    last_runs: NotRequired[list[BriefRun]]


class Purge(TypedDict):
    erased_runs: int
    is_done: bool


class Cancellation(TypedDict):
    """`run_count` runs are alive, of which `run_ids` names up to 1,000; nothing else will start."""

    outcome: Outcome
    run_ids: list[str]
    run_count: int
    purge: NotRequired[Purge]


class BatchItem(TypedDict):
    """What became of one job of many: a status of 201 and its revision, or a problem."""

    job_id: str | None
    status: int
    revision: NotRequired[int]
    problem: NotRequired[dict[str, Any]]


class BulkItem(TypedDict):
    """What became of one job of a group or tag: its state or outcome, or a problem."""

    job_id: str
    status: int
    state: NotRequired[State]
    outcome: NotRequired[Outcome]
    run_ids: NotRequired[list[str]]
    run_count: NotRequired[int]
    problem: NotRequired[dict[str, Any]]
