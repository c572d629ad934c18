"""Leases, places and ends of claimed runs."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any
from unittest.mock import patch

from functions.worker.bookkeeping import Bookkeeper
from functions.worker.executor import Executor
from functions.worker.places import Places
from shared.adapters.memory import run_store
from shared.adapters.run_rules import is_as_seen
from shared.domain.run import Run
from tests.simulation.planted.mutant import Mutant, instead


def _drop_and_leave_the_job(self: Bookkeeper, duplicates: Any) -> None:
    with patch.object(Bookkeeper, "complete", lambda *_: None):
        _DROP(self, duplicates)


_DROP = Bookkeeper.drop


def _begin_on_any_lease(self: Executor, live: Any) -> Any:
    live._trusted_until = inf
    return _BEGIN(self, live)


_BEGIN = Executor.begin


def _as_seen_but_for_the_cancel(row: Run, seen: Run) -> bool:
    return is_as_seen(replace(row, cancel_requested_at=seen.cancel_requested_at), seen)


OWN = (
    Mutant(
        "cancel_forgotten",
        "a run is taken over only as it was seen: not when its end was asked for meanwhile",
        instead(run_store, "is_as_seen", _as_seen_but_for_the_cancel),
        family="ends_asked_for",
    ),
    Mutant(
        "duplicate_leaves_job",
        "a duplicate of the last run completes the job: who ended the run may have died before",
        instead(Bookkeeper, "drop", _drop_and_leave_the_job),
        family="last_runs",
    ),
    Mutant(
        "start_on_lapsed_lease",
        "nothing is started on a lease that has run out",
        instead(Executor, "begin", _begin_on_any_lease),
        family="long_pauses",
    ),
    Mutant(
        "owner_not_counted",
        "no more runs of an owner go on at once than its maximum",
        instead(Places, "_take_of_owner", lambda *_: None),
        family="owners_at_their_maximum",
    ),
)
