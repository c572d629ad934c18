"""The finish that an outcome becomes, pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from functions.worker.cuts import ends_of, first_bytes
from functions.worker.live_run import LiveRun
from functions.worker.targets import Outcome
from shared.domain.instants import MINUTE, Instant
from shared.domain.limits import MAX_ERROR_LENGTH, MAX_OUTPUT_BYTES
from shared.domain.retry import Exhausted, Failure, decide
from shared.domain.run import Attempt, Finish, Run, RunError, RunStatus

#: Attempts share one row, so each keeps less of its error than the run itself.
_ATTEMPT_ERROR_LENGTH = 512
_ERROR_TYPE_LENGTH = 128
#: Of an end whose own account the table would not take.
_NOT_STORED = "not_stored"
#: While a deployment replaces the workers, old ones meet jobs that only new ones can read.
_UNREADABLE_FOR_MS = 15 * MINUTE
_UNREADABLE_LOOK_MS = MINUTE


class _Start(TypedDict):
    started_at: Instant | None
    revision: int | None


def finish_after(live: LiveRun, outcome: Outcome, *, now: Instant, retention_ms: int, dice: float) -> Finish:
    """The end of an attempt that started: of its run, unless the job's retry policy has it wait for another.

    It never ends before its start, whatever the clock did.
    """
    run = live.run
    ended_at = Instant(max(now, live.started_at if live.started_at is not None else now))
    error = None if outcome.error is None else _shortened(outcome.error, MAX_ERROR_LENGTH)
    attempt = Attempt(
        attempt=run.attempt,
        started_at=live.started_at,
        ended_at=ended_at,
        worker_id=run.worker_id,
        error=None if error is None else _shortened(error, _ATTEMPT_ERROR_LENGTH),
        http_status=outcome.http_status,
        revision=live.revision,
    )
    finish = Finish(
        key=run.key,
        token=run.token,
        status=outcome.status,
        ended_at=ended_at,
        started_at=live.started_at,
        revision=live.revision,
        completion=outcome.completion,
        output=None if outcome.output is None else first_bytes(outcome.output, MAX_OUTPUT_BYTES),
        error=error,
        attempts=(attempt,),
        expires_at=Instant(ended_at + retention_ms),
    )
    if live.job is None or outcome.status is RunStatus.SUCCEEDED:
        return finish
    began_at = run.tried_since or live.started_at or ended_at
    decision = decide(
        live.job.retry,
        _failure_of(outcome),
        attempt=run.attempt - run.attempts_before,
        began_at=began_at,
        now=ended_at,
        dice=dice,
    )
    if isinstance(decision, Exhausted):
        return _explained(finish, decision)
    return replace(
        finish,
        status=RunStatus.WAITING,
        lease_until=decision.instant,
        attempt=run.attempt + 1,
        tried_since=began_at,
    )


def _explained(finish: Finish, decision: Exhausted) -> Finish:
    if finish.error is None or decision.detail is None:
        return finish
    message = f"{finish.error.message}; not tried again: {decision.detail}"
    return replace(finish, error=_shortened(replace(finish.error, message=message), MAX_ERROR_LENGTH))


def _failure_of(outcome: Outcome) -> Failure:
    return Failure(
        status=outcome.status,
        error_type="" if outcome.error is None else outcome.error.type,
        http_status=outcome.http_status,
        retry_after_ms=outcome.retry_after_ms,
        is_permanent=outcome.is_permanent,
    )


def finish_of_lost(run: Run, *, now: Instant, retention_ms: int) -> Finish:
    """The end of a run whose workers died one after the other, before this one starts it as well."""
    made = run.attempt - 1
    return Finish(
        key=run.key,
        token=run.token,
        status=RunStatus.FAILED,
        ended_at=now,
        **_last_start(run),
        error=RunError("lost", f"the worker fell silent in each of the last attempts, of {made} in all"),
        expires_at=Instant(now + retention_ms),
    )


def finish_without_start(run: Run, reason: str, *, now: Instant, retention_ms: int) -> Finish:
    """The end of a claimed run that must not start, for a reason of `may_run`, or `overlap`."""
    return Finish(
        key=run.key,
        token=run.token,
        status=RunStatus.CANCELLED if reason == "cancelled" else RunStatus.SKIPPED,
        ended_at=now,
        **_last_start(run),
        reason=reason,
        expires_at=Instant(now + retention_ms),
    )


def finish_to_wait(run: Run, reason: str, *, until: Instant, now: Instant) -> Finish:
    """The end of a claim that is given up before the start, such as one that found no place to run: the same attempt is
    claimed again at `until`.
    """
    return Finish(
        key=run.key,
        token=run.token,
        status=RunStatus.WAITING,
        ended_at=now,
        reason=reason,
        lease_until=until,
        attempt=run.attempt,
    )


def bare(finish: Finish, why: str) -> Finish:
    """The same end without anything that the run left, which the table refused to store."""
    reason = ends_of(f"the table refused what the run left: {why}", _ATTEMPT_ERROR_LENGTH)
    return replace(finish, output=None, completion=None, attempts=(), error=RunError(_NOT_STORED, reason))


def is_bare(finish: Finish) -> bool:
    return finish.error is not None and finish.error.type == _NOT_STORED


def finish_of_unreadable(run: Run, why: str, *, since: Instant, now: Instant, retention_ms: int) -> Finish:
    """The end of a claim by a worker that cannot make sense of the job: the same attempt is claimed again, by a worker
    that can if there is one. Where none was found for as long as a deployment takes, the run has failed.
    """
    if now - since < _UNREADABLE_FOR_MS:
        return finish_to_wait(run, "unreadable_job", until=Instant(now + _UNREADABLE_LOOK_MS), now=now)
    return Finish(
        key=run.key,
        token=run.token,
        status=RunStatus.FAILED,
        ended_at=now,
        **_last_start(run),
        error=_shortened(RunError("unreadable_job", f"no worker can read the job: {why}"), MAX_ERROR_LENGTH),
        expires_at=Instant(now + retention_ms),
    )


def _last_start(run: Run) -> _Start:
    """What the row of a run says that ends without another start: its take-over wrote over it."""
    last = run.last_start
    if last is None:
        return {"started_at": None, "revision": None}
    return {"started_at": last.started_at, "revision": last.revision}


def is_given_up(status: object) -> bool:
    """The run failed for good."""
    return status in {RunStatus.FAILED, RunStatus.TIMED_OUT}


def _shortened(error: RunError, limit: int) -> RunError:
    return replace(error, type=first_bytes(error.type, _ERROR_TYPE_LENGTH), message=ends_of(error.message, limit))
