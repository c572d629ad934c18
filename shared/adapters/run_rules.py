"""What the contract of RunStore says about rows, for every adapter."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.instants import Instant
from shared.domain.run import Finish, Run, RunStatus

#: Of a run with many attempts the first and the newest are kept: a row must stay far below 400 KB, and cheap to write.
MAX_STORED_ATTEMPTS = 20


def is_listed(run: Run) -> bool:
    """Whether it must stand among the runs that may be alive before its row is written so."""
    if run.status is RunStatus.WAITING:
        return True
    is_late = run.claimed_at is not None and run.is_late_at(run.claimed_at)
    return is_late and run.status is RunStatus.RUNNING


def is_failure(status: RunStatus) -> bool:
    """It stands in index `failures`."""
    return status in {RunStatus.FAILED, RunStatus.TIMED_OUT}


def taken_over(run: Run, seen: Run) -> Run:
    """The row that replaces `seen`: its past attempts are kept, whether or not `run` repeats them, and its payload."""
    added = tuple(attempt for attempt in run.attempts if attempt not in seen.attempts)
    attempts = seen.attempts + added
    if len(attempts) > MAX_STORED_ATTEMPTS:
        attempts = attempts[:1] + attempts[1 - MAX_STORED_ATTEMPTS :]
    payload_json = seen.payload_json if run.payload_json is None else run.payload_json
    return replace(run, attempts=attempts, payload_json=payload_json)


def is_as_seen(row: Run, seen: Run) -> bool:
    """Nobody claimed, prolonged, ended or cancelled the run since it was read."""
    return (row.token, row.claim_id, row.status, row.lease_until, row.cancel_requested_at) == (
        seen.token,
        seen.claim_id,
        seen.status,
        seen.lease_until,
        seen.cancel_requested_at,
    )


def is_claim_of(row: Run, run: Run) -> bool:
    """The row is what this very take-over left."""
    return (row.token, row.claim_id, row.status) == (run.token, run.claim_id, run.status)


def ended(row: Run, finish: Finish) -> Run:
    """The row after the finish: what it does not say stays as it was, and its attempts are added."""
    is_waiting = finish.status is RunStatus.WAITING
    return replace(
        row,
        status=finish.status,
        ended_at=None if is_waiting else finish.ended_at,
        attempts=row.attempts + finish.attempts,
        lease_until=row.lease_until if finish.lease_until is None else finish.lease_until,
        attempt=row.attempt if finish.attempt is None else finish.attempt,
        tried_since=row.tried_since if finish.tried_since is None else finish.tried_since,
        started_at=row.started_at if finish.started_at is None else finish.started_at,
        revision=row.revision if finish.revision is None else finish.revision,
        reason=row.reason if finish.reason is None else finish.reason,
        completion=row.completion if finish.completion is None else finish.completion,
        output=row.output if finish.output is None else finish.output,
        error=row.error if finish.error is None else finish.error,
        expires_at=row.expires_at if finish.expires_at is None or is_waiting else finish.expires_at,
    )


def stored_status(row: Run | None, finish: Finish) -> RunStatus | None:
    """The status of a row that this very finish left; None: another did, or it is not written."""
    if row is None or row.token != finish.token:
        return None
    if finish.status is RunStatus.WAITING and row.status is RunStatus.WAITING:
        return row.status if row.lease_until == finish.lease_until else None
    was_cancelled = row.status is RunStatus.CANCELLED and row.cancel_requested_at is not None
    is_of_finish = row.ended_at == finish.ended_at and (was_cancelled or row.status is finish.status)
    return row.status if is_of_finish else None


def is_running(row: Run | None, token: int) -> bool:
    """It may be prolonged or ended by the holder of this token."""
    return row is not None and row.token == token and row.status is RunStatus.RUNNING


def is_plannable(row: Run | None, seen: Run | None) -> bool:
    """Nobody claimed, ended, planned or cancelled the run since it was seen."""
    if row is None or seen is None:
        return row is seen
    return (row.token, row.status, row.cancel_requested_at) == (seen.token, seen.status, seen.cancel_requested_at)


def is_plan_of(row: Run | None, run: Run) -> bool:
    """The row is what this very plan left."""
    return row is not None and is_claim_of(row, run) and row.lease_until == run.lease_until


def with_cancel_requested(row: Run, *, at: Instant, expires_at: Instant) -> Run:
    """The row after its end was asked for; the same row when that changes nothing."""
    if row.status is RunStatus.RUNNING and row.cancel_requested_at is None:
        return replace(row, cancel_requested_at=at)
    if row.status is RunStatus.WAITING:
        return replace(
            row,
            status=RunStatus.CANCELLED,
            reason="cancelled",
            cancel_requested_at=at,
            ended_at=at,
            expires_at=expires_at,
        )
    return row
