"""What the API writes, and what it answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from functions.api import editor, run_changes
from shared.domain.entry import Entry, announce
from shared.domain.job import Job
from shared.domain.redrive import run_again
from tests.simulation.planted.mutant import Mutant, instead


def _announce_unless_tombstone(*args: Any, **kwargs: Any) -> tuple[Job, Entry | None]:
    job, entry = announce(*args, **kwargs)
    return job, None if entry.is_tombstone else entry


def _run_again_under_its_token(run: Any, **given: Any) -> Any:
    return replace(run_again(run, **given), token=run.token)


REQUIRED = (
    Mutant("no_tombstone", "a pause leaves a tombstone", instead(editor, "announce", _announce_unless_tombstone)),
)
OWN = (
    Mutant(
        "redrive_keeps_token",
        "a redrive raises the token",
        instead(run_changes, "run_again", _run_again_under_its_token),
    ),
)
