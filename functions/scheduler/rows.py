"""What the scheduler writes: the dispatch of a slot, and the rows of slots that never reach a worker."""

from __future__ import annotations

from dataclasses import replace

from functions.scheduler.due import Due
from shared.domain.instants import Instant
from shared.domain.message import Dispatch
from shared.domain.run import Run, RunError, RunStatus


def dispatch_of(due: Due, epoch: int, now: Instant) -> Dispatch:
    entry = due.entry
    return Dispatch(
        job_key=entry.job_key,
        generation=entry.generation,
        slot=due.slot,
        fire_at=due.fire_at,
        run_id=due.run_id,
        shard=due.shard,
        epoch=epoch,
        enqueued_at=now,
        attempt=entry.attempt,
        kind=due.kind,
        is_single=entry.schedule is None,
        entry_id=None if entry.schedule is None else entry.entry_id,
        trace=entry.trace,
    )


def skipped_row(due: Due, now: Instant, retention_ms: int) -> Run:
    """One SKIPPED row stands for all slots of a gap."""
    return replace(_ended(due, RunStatus.SKIPPED, now, retention_ms), reason="misfire", gap=due.gap)


def refused_row(due: Due, reason: str, now: Instant, retention_ms: int) -> Run:
    """The queue will never take this dispatch."""
    return replace(_ended(due, RunStatus.FAILED, now, retention_ms), error=RunError("dispatch_refused", reason))


def _ended(due: Due, status: RunStatus, now: Instant, retention_ms: int) -> Run:
    """Without a worker: token 0, below that of any claim."""
    return Run(
        job_key=due.entry.job_key,
        run_id=due.run_id,
        kind=due.kind,
        slot=due.slot,
        fire_at=due.fire_at,
        status=status,
        generation=due.entry.generation,
        token=0,
        ended_at=now,
        expires_at=Instant(now + retention_ms),
    )
