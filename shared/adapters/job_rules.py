"""What the contract of JobStore says about stored rows, for every adapter."""

from __future__ import annotations

from dataclasses import replace

from shared.domain.job import Job, JobState
from shared.ports.job_store import Completion


def is_written(wanted: Job, current: Job | None) -> bool:
    """The row is what a write of `wanted` left, but for what changes without a revision: completion, and what a DELETE
    answered.
    """
    if current is None:
        return False
    is_completed_since = wanted.state is JobState.ACTIVE and current.state is JobState.COMPLETED
    if current.state is not wanted.state and not is_completed_since:
        # Of two changes at the same millisecond, such as a pause and a DELETE, generation and revision are alike.
        return False
    return wanted == replace(
        current, state=wanted.state, cancellation=wanted.cancellation, expires_at=wanted.expires_at
    )


def is_as_read(previous: Job | None, current: Job | None) -> bool:
    """The row still has the revision and state it was read with."""
    if previous is None or current is None:
        return previous is current
    return (previous.revision, previous.state) == (current.revision, current.state)


def is_completed(current: Job | None, completion: Completion) -> bool:
    """This very completion is what is stored."""
    return (
        current is not None
        and current.generation == completion.generation
        and current.state is JobState.COMPLETED
        and current.expires_at == completion.expires_at
    )
