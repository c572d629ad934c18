"""Faults of jobs that come to their end, found by other means, mended, and planted again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from functions.dead_letters.settling import Settler
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


def _as_it_was_read(_: Any, ended: Sequence[completing.Ended]) -> list[completing.Ended]:
    return list(ended)


def _job_is_left(*_: Any) -> None:
    """Its last run was given up, and nobody else will come to end it."""


MENDED = (
    Mutant(
        "given_up_leaves_job",
        "what is settled as undelivered completes its job",
        instead(Settler, "_complete", _job_is_left),
        family="given_up",
    ),
    Mutant(
        "changed_is_left",
        "the end of the last run of a job that was changed meanwhile is judged again by the job as it is",
        instead(completing, "_read_again", _as_it_was_read),
        family="changed_at_their_end",
    ),
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
