"""The finish that an outcome becomes, pure."""

from __future__ import annotations

from dataclasses import replace

from functions.worker.cuts import ends_of, first_bytes
from functions.worker.live_run import LiveRun
from functions.worker.targets import Outcome
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState, is_last_slot
from shared.domain.limits import MAX_ERROR_LENGTH, MAX_OUTPUT_BYTES
from shared.domain.run import Attempt, Finish, Run, RunError, RunKind, RunStatus

#: Attempts share one row, so each keeps less of its error than the run itself.
_ATTEMPT_ERROR_LENGTH = 512
_ERROR_TYPE_LENGTH = 128


def finish_after(live: LiveRun, outcome: Outcome, *, now: Instant, retention_ms: int) -> Finish:
    """The end of a run that started. It never ends before its start, whatever the clock did."""
    run = live.run
    ended_at = Instant(max(now, live.started_at if live.started_at is not None else now))
    error = None if outcome.error is None else _shortened(outcome.error, MAX_ERROR_LENGTH)
    attempt = Attempt(
        attempt=run.attempt,
        started_at=live.started_at,
        ended_at=ended_at,
        worker_id=run.worker_id,
        error=None if error is None else _shortened(error, _ATTEMPT_ERROR_LENGTH),
    )
    return Finish(
        key=run.key,
        token=run.token,
        status=outcome.status,
        ended_at=ended_at,
        started_at=live.started_at,
        completion=outcome.completion,
        output=None if outcome.output is None else first_bytes(outcome.output, MAX_OUTPUT_BYTES),
        error=error,
        attempts=(attempt,),
        expires_at=Instant(ended_at + retention_ms),
    )


def finish_without_start(run: Run, reason: str, *, now: Instant, retention_ms: int) -> Finish:
    """The end of a claimed run that must not start, for a reason of `may_run`."""
    return Finish(
        key=run.key,
        token=run.token,
        status=RunStatus.CANCELLED if reason == "cancelled" else RunStatus.SKIPPED,
        ended_at=now,
        reason=reason,
        expires_at=Instant(now + retention_ms),
    )


def lost_attempt(seen: Run) -> Attempt:
    """What is known of the attempt whose worker fell silent."""
    return Attempt(
        attempt=seen.attempt,
        started_at=seen.started_at,
        ended_at=None,
        worker_id=seen.worker_id,
        error=RunError("lost", "the worker fell silent and its lease ran out"),
    )


def completes(job: Job | None, run: Run, status: RunStatus) -> bool:
    """This end leaves the job nothing to fire."""
    return (
        job is not None
        and job.state is JobState.ACTIVE
        and status.is_final
        and run.kind in {RunKind.SCHEDULED, RunKind.CATCH_UP}
        and is_last_slot(job.schedule, run.slot)
    )


def _shortened(error: RunError, limit: int) -> RunError:
    return replace(error, type=first_bytes(error.type, _ERROR_TYPE_LENGTH), message=ends_of(error.message, limit))
