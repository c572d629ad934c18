"""Faults of jobs that come to their end, found by other means, mended, and planted again."""

from __future__ import annotations

from typing import Any

from shared.domain.completion import completes
from shared.domain.job import Job
from shared.domain.run import Run, RunStatus
from shared.ports import completing
from tests.simulation.planted.mutant import Mutant, instead


def _completes_though_left_out(job: Job | None, run: Run, status: RunStatus) -> bool:
    is_left_out = status is RunStatus.SKIPPED and run.reason == "overlap"
    return completes(job, run, RunStatus.SUCCEEDED if is_left_out else status)


def _never_over(*_: Any, **__: Any) -> None:
    return None


MENDED = (
    Mutant(
        "left_out_completes",
        "a last slot that is left out for a run that goes on does not complete the job",
        instead(completing, "completes", _completes_though_left_out),
        family="jobs_that_end",
    ),
    Mutant(
        "left_out_forgotten",
        "who ends after the last slot was left out completes the job",
        instead(completing, "perhaps_over", _never_over),
        family="jobs_that_end",
    ),
)
