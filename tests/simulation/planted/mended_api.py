"""Faults of the API that were found by other means, mended, and planted again."""

from __future__ import annotations

from collections.abc import Sequence

from functions.api import editor
from functions.api.backfilling import Candidate
from functions.api.editor import JobEditor
from shared.domain.job import Cancellation, CancelOutcome
from shared.domain.keys import run_id_of
from shared.domain.run import Run
from tests.simulation.planted.mutant import Mutant, instead


def _all_named(alive: Sequence[Run]) -> Cancellation:
    return Cancellation(CancelOutcome.RUNNING, tuple(sorted(run.run_id for run in alive)))


MENDED = (
    Mutant(
        "all_named",
        "the answer to a DELETE names as many runs as a row has room for",
        instead(editor, "cancellation_of", _all_named),
        family="many_waiting",
    ),
    Mutant(
        "no_op_forgotten",
        "a request that found nothing to do leaves a receipt: its repeat finds nothing either",
        instead(JobEditor, "_leave_receipt", lambda *_: None),
        family="repeats",
    ),
    Mutant(
        "backfill_twice",
        "a slot of a job is one run, whoever asks for it",
        instead(Candidate, "run_id", property(lambda self: run_id_of(self.slot, "-b"))),
        family="backfills",
    ),
)
