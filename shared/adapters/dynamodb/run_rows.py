"""Rows of table `job_runs`."""

from __future__ import annotations

from typing import Any

from shared.adapters.dynamodb.attributes import Row, Value, document, read_document, read_text, text
from shared.adapters.dynamodb.columns import (
    document_column,
    read_columns,
    seconds_until,
    text_column,
    whole_column,
    write_columns,
)
from shared.adapters.run_rules import is_failure
from shared.domain.errors import StoredUnreadable
from shared.domain.keys import RunKey, job_id_of, owner_of
from shared.domain.run import Attempt, Finish, Run, RunError, RunKind, RunStatus
from shared.domain.schedules import Gap
from shared.domain.sharding import owner_slice

PARTITION = "job_key"
SORT = "run_id"
FAILURE_SLICE = "failure_slice"
ENDED_AT = "ended_at"
TTL = "expires_at"
#: A map from `t<token>_<n>` to JSON: a finish adds its attempts without knowing those before, and twice is once.
ATTEMPTS = "attempts"


def _error_to_json(error: RunError) -> list[str]:
    return [error.type, error.message]


def _error_from_json(stored: list[str]) -> RunError:
    type_, message, *_ = stored
    return RunError(type_, message)


STATUS = text_column("status", RunStatus)
TOKEN = whole_column("token")
LEASE_UNTIL = whole_column("lease_until")
ATTEMPT = whole_column("attempt")
TRIED_SINCE = whole_column("tried_since")
CANCEL_REQUESTED_AT = whole_column("cancel_requested_at")
STARTED_AT = whole_column("started_at")
REVISION = whole_column("revision")
PROGRESS = text_column("progress")
ENDED = (
    STATUS,
    whole_column(ENDED_AT),
    STARTED_AT,
    REVISION,
    text_column("reason"),
    text_column("completion"),
    text_column("output"),
    document_column("error", _error_to_json, _error_from_json),
    whole_column("expires_at_ms", field="expires_at"),
)
#: The same of an attempt after which the run waits for its next one: it has not ended, and must not expire.
_WAITS = (
    *(column for column in ENDED if column.field not in {"ended_at", "expires_at"}),
    LEASE_UNTIL,
    ATTEMPT,
    TRIED_SINCE,
)

COLUMNS = (
    text_column("kind", RunKind),
    whole_column("slot"),
    whole_column("fire_at"),
    whole_column("generation"),
    TOKEN,
    ATTEMPT,
    text_column("claim_id", absent=""),
    text_column("worker_id", absent=""),
    LEASE_UNTIL,
    whole_column("enqueued_at"),
    whole_column("received_at"),
    whole_column("claimed_at"),
    PROGRESS,
    whole_column("attempts_before", absent=0),
    TRIED_SINCE,
    CANCEL_REQUESTED_AT,
    text_column("payload_json"),
    text_column("trace"),
    document_column("gap", lambda gap: [gap.first, gap.last, gap.count], lambda stored: Gap(*stored[:3])),
    *ENDED,
)


def key_of(key: RunKey) -> Row:
    return {PARTITION: text(key.job_key), SORT: text(key.run_id)}


def write_run(run: Run) -> Row:
    row = key_of(run.key) | write_columns(COLUMNS, run)
    row[ATTEMPTS] = {"M": write_attempts(run.attempts, token=0)}
    if is_failure(run.status):
        row[FAILURE_SLICE] = failure_slice(run.key)
    if run.expires_at is not None:
        row[TTL] = seconds_until(run.expires_at)
    return row


def read_run(row: Row) -> Run:
    """Raises StoredUnreadable."""
    job_key, run_id = read_text(row[PARTITION]), read_text(row[SORT])
    try:
        stored = row[ATTEMPTS]["M"]
        return Run(
            job_key=job_key,
            run_id=run_id,
            attempts=tuple(_attempt_from_json(read_document(stored[name])) for name in sorted(stored)),
            **read_columns(COLUMNS, row),
        )
    except Exception as error:
        what = f"run {run_id!r} of job {job_id_of(job_key)!r}"
        raise StoredUnreadable(what, f"{type(error).__name__}: {error}") from error


def write_end(finish: Finish) -> Row:
    """What a finish sets."""
    if finish.status.is_alive:
        return write_columns(_WAITS, finish)
    row = write_columns(ENDED, finish)
    if is_failure(finish.status):
        row[FAILURE_SLICE] = failure_slice(finish.key)
    if finish.expires_at is not None:
        row[TTL] = seconds_until(finish.expires_at)
    return row


def write_cancellation(run: Run) -> Row:
    """What a request to cancel sets."""
    row = write_columns(
        (*ENDED, CANCEL_REQUESTED_AT) if run.status is RunStatus.CANCELLED else (CANCEL_REQUESTED_AT,), run
    )
    if run.expires_at is not None:
        row[TTL] = seconds_until(run.expires_at)
    return row


def write_attempts(attempts: tuple[Attempt, ...], *, token: int) -> Row:
    """Named so that they sort in the order they were made."""
    return {f"t{token:06}_{number:03}": document(_attempt_to_json(it)) for number, it in enumerate(attempts)}


def failure_slice(key: RunKey) -> Value:
    return text(owner_slice(owner_of(key.job_key), f"{key.job_key}#{key.run_id}"))


def _attempt_to_json(attempt: Attempt) -> list[Any]:
    error = None if attempt.error is None else _error_to_json(attempt.error)
    times = [attempt.started_at, attempt.ended_at]
    return [attempt.attempt, *times, attempt.worker_id, error, attempt.http_status, attempt.revision]


def _attempt_from_json(stored: list[Any]) -> Attempt:
    attempt, started_at, ended_at, worker_id, error, *later = stored
    return Attempt(
        attempt,
        started_at,
        ended_at,
        worker_id,
        error=None if error is None else _error_from_json(error),
        http_status=later[0] if later else None,
        revision=later[1] if len(later) > 1 else None,
    )
