"""Membership, sweeps, and slots that no worker has."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from functions.scheduler import recording
from functions.scheduler.due import Due
from functions.scheduler.membership import Observer
from functions.scheduler.shard import Shard
from shared.domain.instants import SECOND
from shared.domain.run import Run
from shared.domain.timing import Timing
from shared.ports import RunStore
from tests.simulation import world as world_module
from tests.simulation.planted.mutant import Mutant, instead


def _short_sweep(stack: ExitStack) -> None:
    stack.enter_context(patch.object(Timing, "check", lambda _: None))
    stack.enter_context(patch.object(world_module, "Timing", lambda: Timing(margin_ms=15 * SECOND)))


def _observe_all_silence(self: Observer, nodes: Any, *, at: float) -> None:
    self.longest_step_ms = 10**12
    _OBSERVE(self, nodes, at=at)


_OBSERVE = Observer.observe


def _record_where_no_row_is(runs: RunStore, rows: Sequence[tuple[Due, Run]]) -> list[Run]:
    runs.record([row for _, row in rows])
    return []


def _settle_and_leave_the_job(self: Shard, due: Due, *, by_row: bool = False) -> None:
    _SETTLE(self, due, by_row=by_row and due.gap is not None)


_SETTLE = Shard.settle


REQUIRED = (
    Mutant("short_sweep", "sweeps look back MARGIN, not 15 s", _short_sweep),
    Mutant(
        "silence_counted",
        "a table outage is nobody's silence",
        instead(Observer, "observe", _observe_all_silence),
        worlds=lambda profile: profile.outages and profile.shards > 1 and profile.faulty < 0.05,
    ),
)
FOUND = (
    Mutant(
        "refused_waits",
        "a run whose single fire the queue refuses for good waits no longer",
        instead(recording, "record", _record_where_no_row_is),
        worlds=lambda profile: profile.refused > 0,
    ),
    Mutant(
        "refused_last",
        "a job whose last slot the queue refuses for good is completed",
        instead(Shard, "settle", _settle_and_leave_the_job),
        worlds=lambda profile: profile.refused > 0,
        family="storm",
    ),
)
