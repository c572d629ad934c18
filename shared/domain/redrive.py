"""Runs that have ended are run again: the same run under a higher token, with the retry policy counting anew. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final

from shared.domain.instants import SECOND, Instant
from shared.domain.keys import RunKey
from shared.domain.run import Run, RunStatus


def may_run_again(run: Run) -> bool:
    """A run that succeeded or is running is not; nor is the one row that stands for many skipped slots."""
    return run.status not in {RunStatus.SUCCEEDED, RunStatus.RUNNING} and run.gap is None


def run_again(run: Run, *, generation: int, at: Instant, claim_id: str, trace: str | None = None) -> Run:
    """The WAITING run that replaces `run`, whose next attempt starts `at`, of the job's `generation`. One that waits
    already only waits less.
    """
    is_waiting = run.status is RunStatus.WAITING
    made = max((attempt.attempt for attempt in run.attempts), default=0)
    return replace(
        run,
        status=RunStatus.WAITING,
        generation=generation,
        token=run.token + 1,
        claim_id=claim_id,
        attempt=run.attempt if is_waiting else made + 1,
        attempts_before=run.attempts_before if is_waiting else made,
        tried_since=run.tried_since if is_waiting else None,
        lease_until=at,
        fire_at=at,
        worker_id="",
        enqueued_at=None,
        received_at=None,
        claimed_at=None,
        started_at=None,
        ended_at=None,
        revision=None,
        reason=None,
        completion=None,
        output=None,
        error=None,
        progress=None,
        cancel_requested_at=None,
        expires_at=None,
        trace=trace,
    )


#: What would become of a run, in a dry run, and what did.
PLANNED: Final = "planned"
REDRIVEN: Final = "redriven"


@dataclass(frozen=True, slots=True)
class Redrive:
    run: Run
    starts_at: Instant


@dataclass(frozen=True, slots=True)
class Redriven:
    """What became of a run that was to be run again, or why nothing did."""

    key: RunKey
    outcome: str
    #: Of one that is to start.
    starts_at: Instant | None = None


def spread(runs: Sequence[Run], *, start: Instant, per_second: float) -> Iterator[Redrive]:
    """When each of the runs starts, at this rate."""
    for number, run in enumerate(runs):
        yield Redrive(run, Instant(start + int(number * SECOND / per_second)))


def length_ms(count: int, per_second: float) -> int:
    """How long so many starts take at this rate: what comes behind them keeps it too."""
    return ceil(count * SECOND / per_second)
