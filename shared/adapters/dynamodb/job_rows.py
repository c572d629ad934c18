"""Rows of table `jobs`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shared.adapters.dynamodb.attributes import Row, Value, read_text, text
from shared.adapters.dynamodb.columns import (
    document_column,
    known_members,
    read_columns,
    seconds_until,
    text_column,
    whole_column,
    write_columns,
)
from shared.domain.errors import StoredUnreadable
from shared.domain.instants import HOUR, Instant
from shared.domain.job import Cancellation, CancelOutcome, Job, JobState, RetryPolicy
from shared.domain.keys import job_id_of, owner_of
from shared.domain.schedules import Misfire, decode, encode
from shared.domain.sharding import owner_slice

KEY = "job_key"
OWNER_SLICE = "owner_slice"
CREATED_AT = "created_at"
GENERATION = "generation"
#: DynamoDB expires by seconds; the exact instant stands beside it.
TTL = "expires_at"
#: Far longer than the clocks of two hosts differ.
GENERATIONS_KEPT_MS = HOUR


def misfire_to_json(misfire: Misfire) -> list[Any]:
    stored: list[Any] = [misfire.policy, misfire.grace_ms, misfire.limit]
    return [*stored, True] if misfire.within_gap else stored


def misfire_from_json(stored: list[Any]) -> Misfire:
    policy, grace_ms, limit, *more = stored
    return Misfire(policy=policy, grace_ms=grace_ms, limit=limit, within_gap=more[:1] == [True])


def retry_from_json(stored: dict[str, Any]) -> RetryPolicy:
    words = {name: tuple(stored.get(name, ())) for name in ("retry_on", "never_on")}
    return RetryPolicy(**(known_members(RetryPolicy, stored) | words))


def cancellation_to_json(cancellation: Cancellation) -> list[Any]:
    return [cancellation.outcome, list(cancellation.run_ids), cancellation.more]


def _cancellation_from_json(stored: list[Any]) -> Cancellation:
    outcome, run_ids, *later = stored
    return Cancellation(CancelOutcome(outcome), tuple(run_ids), later[0] if later else 0)


STATE = text_column("state", JobState)
CANCELLATION = document_column("cancellation", cancellation_to_json, _cancellation_from_json)
EXPIRES_AT = whole_column("expires_at_ms", field="expires_at")

COLUMNS = (
    document_column("schedule", encode, decode),
    document_column("target"),
    whole_column(GENERATION),
    whole_column("from_at"),
    whole_column(CREATED_AT),
    whole_column("updated_at"),
    text_column("created_by"),
    text_column("updated_by"),
    whole_column("revision"),
    STATE,
    text_column("state_reason"),
    text_column("name", absent=""),
    text_column("group", absent=""),
    document_column("tags", dict, absent={}),
    document_column("payload"),
    text_column("lane"),
    whole_column("timeout_ms"),
    document_column("retry", asdict, retry_from_json),
    text_column("overlap"),
    whole_column("max_concurrent"),
    document_column("misfire", misfire_to_json, misfire_from_json),
    whole_column("keep_after_completion_ms"),
    CANCELLATION,
    EXPIRES_AT,
    whole_column("entry_at"),
    text_column("trace"),
    whole_column("first_generation"),
    whole_column("resumed_generation", absent=0),
    whole_column("paused_at"),
    whole_column("read_at"),
    whole_column("counted", absent=0),
)
#: Every attribute but the key that a write of a job may set; it removes those that it does not set, and no others.
WRITTEN_ATTRIBUTES = (*(column.name for column in COLUMNS), OWNER_SLICE, TTL)


def key_of(job_key: str) -> Row:
    return {KEY: text(job_key)}


def write_job(job: Job) -> Row:
    row = key_of(job.job_key) | write_columns(COLUMNS, job)
    row[OWNER_SLICE] = text(owner_slice(job.owner_id, job.job_id))
    if job.expires_at is not None:
        row[TTL] = ttl_of(job.expires_at)
    return row


def ttl_of(expires_at: Instant) -> Value:
    """When the row goes of a job that has been gone to its owner since `expires_at`. Until then a job of the same id
    gets a higher generation than the one before, whatever the clocks of the hosts say that make them.
    """
    return seconds_until(expires_at + GENERATIONS_KEPT_MS)


def read_job(row: Row) -> Job:
    """Raises StoredUnreadable."""
    job_key = read_text(row[KEY])
    try:
        return Job(owner_id=owner_of(job_key), job_id=job_id_of(job_key), **read_columns(COLUMNS, row))
    except Exception as error:
        raise StoredUnreadable(f"job {job_id_of(job_key)!r}", f"{type(error).__name__}: {error}") from error
