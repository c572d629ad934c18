"""Runs, and what is asked about slots."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"]
Kind = Literal["scheduled", "manual", "backfill", "catch_up"]


class RunError(TypedDict):
    type: str
    message: str


class Attempt(TypedDict):
    attempt: int
    started_at: str | None
    ended_at: str | None
    http_status: int | None
    error: RunError | None
    worker_id: str
    revision: int | None


class Drift(TypedDict):
    """How late a run started, and on which part of the way."""

    total: int
    dispatch: int
    queue: int
    claim: int
    start: int


class Gap(TypedDict):
    """The skipped slots that one row stands for."""

    first: str
    last: str
    count: int


class Run(TypedDict):
    """The record of one execution of a slot; `ended_at` is None while it is alive."""

    run_id: str
    job_id: str
    kind: Kind
    slot: str
    fire_at: str
    status: Status
    #: Of what was skipped or cancelled.
    reason: str | None
    attempt: int
    fencing_token: int
    worker_id: str | None
    completion: str | None
    enqueued_at: str | None
    received_at: str | None
    started_at: str | None
    ended_at: str | None
    #: Of the job's definition that the newest attempt started with; None before a start.
    revision: int | None
    retry_at: str | None
    cancel_requested_at: str | None
    drift_ms: Drift | None
    #: Of the webhook's answer to the last attempt.
    http_status: int | None
    output: str | None
    error: RunError | None
    progress: str | None
    attempts: list[Attempt]
    gap: NotRequired[Gap]


class BriefRun(TypedDict):
    """What a list of jobs shows of a run."""

    run_id: str
    kind: Kind
    slot: str
    status: Status
    reason: str | None
    started_at: str | None
    ended_at: str | None
    drift_ms: Drift | None


class BackfilledSlot(TypedDict):
    slot: str
    run_id: str
    outcome: Literal["planned", "has_run", "not_settled"]


class Backfill(TypedDict):
    """`next_from` is where to go on; None: the range is done."""

    dry_run: bool
    planned: int
    items: list[BackfilledSlot]
    next_from: str | None


class RedrivenRun(TypedDict):
    job_id: str
    run_id: str
    starts_at: str | None
    outcome: Literal["redriven", "planned", "job_ended", "job_paused", "changed"]


class Redrive(TypedDict):
    """`planned` is of a dry run. `next_cursor` is where to go on; None: no failed run is left."""

    dry_run: bool
    planned: int
    redriven: int
    items: list[RedrivenRun]
    next_cursor: str | None


class Explanation(TypedDict):
    """Why a slot ran, runs, or does not. Each step has `step` and `at`, and what else is known of it."""

    job_id: str
    run_id: str | None
    slot: str
    fire_at: str
    outcome: Literal["ran", "running", "waiting", "did_not_run", "not_due"]
    reason: str | None
    detail: str
    drift_ms: Drift | None
    steps: list[dict[str, Any]]


class PreviewedSlot(TypedDict):
    slot: str
    local: str
    fires: bool
    latest_fire_at: str
    marks: list[str]
