"""When the end of a run leaves its job nothing to do."""

from __future__ import annotations

from shared.domain.job import Job, JobState, is_last_slot
from shared.domain.run import Run, RunKind, RunStatus


def completes(job: Job | None, run: Run, status: RunStatus) -> bool:
    """This end leaves the job nothing to fire."""
    return (
        job is not None
        and job.state is JobState.ACTIVE
        and (status.is_final or status is RunStatus.CANCELLED)
        and run.kind in {RunKind.SCHEDULED, RunKind.CATCH_UP}
        and is_last_slot(job.schedule, run.slot)
    )
