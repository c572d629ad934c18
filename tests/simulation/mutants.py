"""Planted bugs: each takes one rule out of the real code, and the simulation must notice.

A bug that is never found is a fault that the world does not know.
`python -P -m tests.simulation.mutants [SEEDS [NAME ...]]` says which seed finds each, from 0 on.
"""

# ruff: noqa: T201 (main tells)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any
from unittest.mock import patch

from functions.api import editor
from functions.scheduler import shard as shard_module
from functions.scheduler.due import Due
from functions.scheduler.keeping import Keeper
from functions.scheduler.membership import Observer
from functions.scheduler.shard import Shard
from functions.worker import claims, executor
from functions.worker.settings import WorkerSettings
from shared.adapters.memory import MemoryFleetStore, MemoryRunStore
from shared.domain.instants import MINUTE
from shared.domain.run import decide_claim
from shared.domain.timing import CLOCK_BOUND_MS
from tests.simulation import planted
from tests.simulation import world as world_module
from tests.simulation.script import simulate
from tests.simulation.world import Result

#: More than any of them needs.
MOST_SEEDS = 600
_NEAR = 8

Plant = Callable[[ExitStack], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`sentence` says what is wrong; `found_by` is the first seed from 0 that noticed when the table was made."""

    name: str
    sentence: str
    found_by: int
    plant: Plant

    @property
    def seeds(self) -> Iterable[int]:
        """Where it was found first, then all: whatever changes in the code may move the worlds."""
        return chain(range(self.found_by, self.found_by + _NEAR), range(MOST_SEEDS))


@contextmanager
def with_bug(mutant: Mutant) -> Iterator[None]:
    with ExitStack() as stack:
        mutant.plant(stack)
        yield


def find(mutant: Mutant, seeds: Iterable[int]) -> Result | None:
    """The first run that breaks an invariant under the planted bug."""
    with with_bug(mutant):
        return next((result for result in map(simulate, seeds) if result.violations), None)


def _patch(target: Any, name: str, value: Any) -> Plant:
    def plant(stack: ExitStack) -> None:
        stack.enter_context(patch.object(target, name, value))

    return plant


def _settings(**changes: Any) -> Plant:
    return _patch(world_module, "WorkerSettings", lambda: WorkerSettings(**changes))


def _deciding(change: Callable[..., Any]) -> Plant:
    """The claim rule, with `change` asked first."""

    def decide(existing: Any, **given: Any) -> Any:
        return change(existing, lambda: decide_claim(existing, **given), **given)

    return _patch(claims, "decide_claim", decide)


MUTANTS = (
    Mutant("short_sweep", "a sweep looks back only 15 s", 100, planted.short_sweep),
    Mutant(
        "fresh_too_soon",
        "`fresh` is cleared before the checkpoint",
        100,
        _patch(Keeper, "checkpoint_once", planted.checkpoint_after_clearing),
    ),
    Mutant(
        "moved_unaccepted",
        "`next_at` is moved over a slot of the same answer that was not accepted",
        100,
        _patch(Shard, "_place", planted.place_without_waiting),
    ),
    Mutant("move_creates", "a move without attribute_exists", 100, planted.move_that_creates),
    Mutant("no_tombstone", "no tombstone on pause", 100, _patch(editor, "entry_of", planted.entry_unless_tombstone)),
    Mutant(
        "row_deleted",
        "the run row is deleted when superseded",
        100,
        _patch(MemoryRunStore, "finish", planted.rows_deleted),
    ),
    Mutant(
        "over_succeeded",
        "an older generation is taken over although it SUCCEEDED",
        100,
        _deciding(planted.over_succeeded),
    ),
    Mutant(
        "dropped_alive",
        "a duplicate message is deleted while the run is alive",
        100,
        _deciding(planted.drop_while_alive),
    ),
    Mutant(
        "lost_answer_attempt",
        "a lost claim answer counts as an attempt",
        100,
        _deciding(planted.lost_answer_is_an_attempt),
    ),
    Mutant(
        "epoch_unchecked",
        "the epoch is not checked at the checkpoint",
        100,
        _patch(MemoryFleetStore, "checkpoint", planted.checkpoint_of_anyone),
    ),
    Mutant(
        "watermark_ahead",
        "the watermark is ahead of sends in flight",
        100,
        _patch(Shard, "safe_watermark", planted.watermark_ahead),
    ),
    Mutant("read_before_claim", "the job is read before the claim", 100, planted.read_before_claim),
    Mutant(
        "silence_counted",
        "silence counts during a table outage",
        100,
        _patch(Observer, "observe", planted.observe_all_silence),
    ),
    Mutant(
        "row_expires",
        "a run row expires before its message",
        100,
        _settings(run_retention_ms=MINUTE),
    ),
    Mutant(
        "from_w",
        "enumeration starts at W instead of W - window",
        100,
        _patch(shard_module, "first_unsettled", planted.first_unsettled_from_w),
    ),
    Mutant(
        "held_early",
        "a message too early is held without limit",
        100,
        _patch(executor, "admit", planted.never_too_early),
    ),
    # Found by the simulation in the real code, and put back.
    Mutant(
        "watermark_lowered",
        "after a lost answer a lower watermark is asked for, and believed",
        100,
        _patch(Shard, "ask", planted.watermark_forgetting),
    ),
    Mutant(
        "fresh_in_flight",
        "`fresh` is cleared over a slot sent during the checkpoint",
        100,
        _patch(Shard, "checkpointed", planted.checkpointed_over_flights),
    ),
    Mutant(
        "foreign_answer",
        "a late answer to an earlier ownership of the shard is counted",
        100,
        _patch(Shard, "settle", planted.settle_anything),
    ),
    Mutant(
        "gap_row",
        "a gap is recorded under the run_id of its first slot",
        100,
        _patch(Due, "run_id", property(planted.run_id_of_first)),
    ),
    Mutant(
        "clock_bound_once",
        "a run is taken over one clock bound after its lease, not two",
        100,
        _settings(clock_bound_ms=CLOCK_BOUND_MS),
    ),
    Mutant(
        "completed_unnamed",
        "a DELETE of a completed job names no run",
        100,
        _patch(editor, "cancelled", planted.cancelled_with_answer),
    ),
)


def main(arguments: Sequence[str]) -> None:
    """`python -P -m tests.simulation.mutants [SEEDS [NAME ...]]`: as the module says."""
    most = int(arguments[0]) if arguments else 300
    for mutant in MUTANTS:
        if arguments[1:] and mutant.name not in arguments[1:]:
            continue
        result = find(mutant, range(most))
        found = f"seed {result.seed}: {str(result.violations[0])[:140]}" if result else f"NOT FOUND in {most}"
        print(f"{mutant.name:<20} {found}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
