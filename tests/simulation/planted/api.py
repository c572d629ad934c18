"""What the API writes, and what it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from functions.api import editor, run_changes
from shared.domain.entry import Entry, announce
from shared.domain.job import Cancellation, CancelOutcome, Job, JobState, cancelled
from shared.domain.redrive import run_again
from tests.simulation.planted.mutant import Mutant, instead


def _announce_unless_tombstone(*args: Any, **kwargs: Any) -> tuple[Job, Entry | None]:
    job, entry = announce(*args, **kwargs)
    return job, None if entry.is_tombstone else entry


def _cancelled_with_answer(job: Any, **given: Any) -> Any:
    after = cancelled(job, **given)
    is_over = job.state is JobState.COMPLETED
    return replace(after, cancellation=Cancellation(CancelOutcome.ALREADY_ENDED)) if is_over else after


def _run_again_under_its_token(run: Any, **given: Any) -> Any:
    return replace(run_again(run, **given), token=run.token)


REQUIRED = (
    Mutant("no_tombstone", "a pause leaves a tombstone", instead(editor, "announce", _announce_unless_tombstone)),
)
FOUND = (
    Mutant(
        "completed_unnamed",
        "a DELETE of a completed job names the run of an earlier slot that is about to start",
        instead(editor, "cancelled", _cancelled_with_answer),
    ),
)
OWN = (
    Mutant(
        "redrive_keeps_token",
        "a redrive raises the token",
        instead(run_changes, "run_again", _run_again_under_its_token),
    ),
)
