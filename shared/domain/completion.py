"""When the end of a run leaves its job nothing to do."""

from __future__ import annotations

from shared.domain.job import Job, JobState, is_last_slot
from shared.domain.run import Run, RunKind, RunStatus


def completes(job: Job | None, run: Run, status: RunStatus, *, reason: str | None = None) -> bool:
    """This end, for this reason if it never started, leaves the job nothing to fire."""
    is_done = status.is_final or status is RunStatus.CANCELLED or (status is RunStatus.SKIPPED and reason == "overlap")
    return (
        job is not None
        and job.state is JobState.ACTIVE
        and is_done
        and run.kind in {RunKind.SCHEDULED, RunKind.CATCH_UP}
        and is_last_slot(job.schedule, run.slot)
    )
