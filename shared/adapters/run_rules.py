"""What the contract of RunStore says about rows, for every adapter."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.instants import MINUTE, Instant
from shared.domain.run import Finish, Run, RunStatus

#: A run claimed this long after its slot is put into index `alive` at once. A cancel finds slots of the last 15 minutes
#: by their run_id; the ten minutes between are for the first heartbeat, which puts every run into the index.
LATE_AT_CLAIM_MS = 5 * MINUTE


def alive_at(run: Run) -> Instant | None:
    """Where the run stands in index `alive` after an insert or a take-over; None: it is not in it."""
    if run.status is RunStatus.WAITING:
        return run.lease_until
    is_late = run.claimed_at is not None and run.claimed_at - run.slot > LATE_AT_CLAIM_MS
    return run.claimed_at if is_late and run.status is RunStatus.RUNNING else None


def is_failure(status: RunStatus) -> bool:
    """It stands in index `failures`."""
    return status in {RunStatus.FAILED, RunStatus.TIMED_OUT}


def taken_over(run: Run, seen: Run) -> Run:
    """The row that replaces `seen`: its past attempts are kept, whether or not `run` repeats them."""
    added = tuple(attempt for attempt in run.attempts if attempt not in seen.attempts)
    return replace(run, attempts=seen.attempts + added)


def is_as_seen(row: Run, seen: Run) -> bool:
    """Nobody claimed, prolonged or ended the run since it was read."""
    return (row.token, row.claim_id, row.status, row.lease_until) == (
        seen.token,
        seen.claim_id,
        seen.status,
        seen.lease_until,
    )


def is_claim_of(row: Run, run: Run) -> bool:
    """The row is what this very take-over left."""
    return (row.token, row.claim_id, row.status) == (run.token, run.claim_id, run.status)


def ended(row: Run, finish: Finish) -> Run:
    """The row after the finish: what it does not say stays as it was, and its attempts are added."""
    return replace(
        row,
        status=finish.status,
        ended_at=finish.ended_at,
        attempts=row.attempts + finish.attempts,
        started_at=row.started_at if finish.started_at is None else finish.started_at,
        reason=row.reason if finish.reason is None else finish.reason,
        completion=row.completion if finish.completion is None else finish.completion,
        output=row.output if finish.output is None else finish.output,
        error=row.error if finish.error is None else finish.error,
        expires_at=row.expires_at if finish.expires_at is None else finish.expires_at,
    )


def is_this_finish(row: Run, finish: Finish) -> bool:
    """This very finish is what is stored."""
    return (row.token, row.status, row.ended_at) == (finish.token, finish.status, finish.ended_at)
