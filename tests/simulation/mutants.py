"""Planted bugs: each takes one rule out of the real code, and the simulation must notice.

`find(name, seeds)` is the first seed that does. A bug that is never found is a fault that the world does not know.
"""

# ruff: noqa: T201 (main tells)

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from functions.api import editor
from functions.scheduler import shard as shard_module
from functions.scheduler.membership import Observer
from functions.scheduler.node import Node
from functions.scheduler.shard import Due, Shard
from functions.worker import claims, executor
from functions.worker.admission import admit
from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.settings import WorkerSettings
from shared.adapters.memory import MemoryEntryStore, MemoryFleetStore, MemoryJobStore, MemoryRunStore
from shared.domain.entry import Entry, entry_of, first_unsettled
from shared.domain.fleet import Lease
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import Cancellation, CancelOutcome, JobState, cancelled
from shared.domain.keys import EntryKey, run_id_of
from shared.domain.run import Duplicate, HideUntil, Mine, TakeOver, decide_claim
from shared.domain.schedules import fire_at, slots
from shared.domain.timing import CLOCK_BOUND_MS, Timing
from shared.ports import Delivery, JobWrite
from tests.simulation import world as world_module
from tests.simulation.script import simulate
from tests.simulation.world import Result

Plant = Callable[[ExitStack], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`sentence` says what is wrong; `found_by` is the first seed from 0 that notices, as measured."""

    name: str
    sentence: str
    found_by: int
    plant: Plant

    @property
    def seeds(self) -> range:
        """Enough to find it; a change of the world may move the first seed a little."""
        return range(max(self.found_by - 1, 0), self.found_by + 60)


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    with ExitStack() as stack:
        mutant.plant(stack)
        yield


def find(mutant: Mutant, seeds: Iterable[int]) -> Result | None:
    """The first run that breaks an invariant under the planted bug."""
    with planted(mutant):
        return next((result for result in map(simulate, seeds) if result.violations), None)


def _patch(target: Any, name: str, value: Any) -> Plant:
    return lambda stack: stack.enter_context(patch.object(target, name, value)) and None


# Scheduler -----------------------------------------------------------------------------------------------------------


def _short_sweep(stack: ExitStack) -> None:
    stack.enter_context(patch.object(Timing, "check", lambda _: None))
    stack.enter_context(patch.object(world_module, "Timing", lambda: Timing(margin_ms=15 * SECOND)))


def _checkpoint_after_clearing(self: Node) -> None:
    for shard in list(self.shards.values()):
        fired = [
            EntryKey(shard.number, entry_id)
            for entry_id in list(shard._fresh)
            if (resident := shard._residents[entry_id]).slot is None
            or resident.slot != first_unsettled(resident.entry, shard.lease.watermark)
        ]
        if fired:
            self.ports.entries.clear_fresh(fired)
            shard.cleared_fresh(fired)
    _CHECKPOINT(self)


_CHECKPOINT = Node.checkpoint_once


def _place_without_waiting(self: Shard, resident: Any, now: Instant) -> None:
    before, resident.unsettled = resident.unsettled, 0
    try:
        _PLACE(self, resident, now)
    finally:
        resident.unsettled = before


_PLACE = Shard._place


def _move_that_creates(stack: ExitStack) -> None:
    ghosts: dict[str, Entry] = {}

    def apply(self: MemoryJobStore, change: JobWrite) -> None:
        if change.put_entry is not None:
            ghosts[change.put_entry.entry_id] = change.put_entry
        original_apply(self, change)

    def move(self: MemoryEntryStore, key: EntryKey, next_at: Instant) -> bool:
        of_shard = self._tables.entries.setdefault(key.shard, {})
        if key.entry_id not in of_shard and key.entry_id in ghosts:
            of_shard[key.entry_id] = replace(ghosts[key.entry_id], next_at=next_at, fresh=False)
        return original_move(self, key, next_at)

    original_apply, original_move = MemoryJobStore._apply, MemoryEntryStore.move
    stack.enter_context(patch.object(MemoryJobStore, "_apply", apply))
    stack.enter_context(patch.object(MemoryEntryStore, "move", move))


def _checkpoint_of_anyone(self: MemoryFleetStore, lease: Lease) -> bool:
    stored = self._lease(lease.shard)
    self._tables.leases[lease.shard] = replace(stored, watermark=max(stored.watermark, lease.watermark))
    return True


def _watermark_ahead(self: Shard) -> Instant | None:
    before, self._unsettled = self._unsettled, {}
    try:
        return _SAFE_WATERMARK(self)
    finally:
        self._unsettled = before


_SAFE_WATERMARK = Shard.safe_watermark


def _watermark_forgetting(self: Shard, watermark: Instant) -> Lease:
    return replace(self.lease, watermark=watermark)


def _checkpointed_over_flights(self: Shard, lease: Lease) -> list[EntryKey]:
    before, self._unsettled = self._unsettled, {}
    try:
        return _CHECKPOINTED(self, lease)
    finally:
        self._unsettled = before


_CHECKPOINTED = Shard.checkpointed


def _first_unsettled_from_w(entry: Entry, watermark: Instant) -> Instant | None:
    if entry.is_single:
        return entry.slot
    if entry.schedule is None:
        return None
    floor = entry.next_at if entry.fresh else max(watermark + 1, entry.next_at)
    for slot in slots(entry.schedule, Instant(max(entry.from_at, floor) - 1)):
        if fire_at(entry.schedule, entry.job_key, slot) >= floor:
            return slot
    return None


def _observe_all_silence(self: Observer, nodes: Any, *, at: float) -> None:
    self.longest_step_ms = 10**12
    _OBSERVE(self, nodes, at=at)


_OBSERVE = Observer.observe


def _run_id_of_first(self: Due) -> str:
    return self.entry.run_id if self.entry.run_id is not None else run_id_of(self.slot)


# API -----------------------------------------------------------------------------------------------------------------


def _entry_unless_tombstone(*args: Any, **kwargs: Any) -> Entry | None:
    entry = entry_of(*args, **kwargs)
    return None if entry.is_tombstone else entry


def _cancelled_with_answer(job: Any, **given: Any) -> Any:
    after = _CANCELLED(job, **given)
    is_over = job.state is JobState.COMPLETED
    return replace(after, cancellation=Cancellation(CancelOutcome.ALREADY_ENDED)) if is_over else after


_CANCELLED = cancelled

# Worker --------------------------------------------------------------------------------------------------------------


def _deciding(change: Callable[..., Any]) -> Plant:
    """The claim rule, with `change` asked first."""

    def decide(existing: Any, **given: Any) -> Any:
        return change(existing, lambda: _DECIDE(existing, **given), **given)

    return _patch(claims, "decide_claim", decide)


_DECIDE = decide_claim


def _over_succeeded(existing: Any, decide: Callable[[], Any], *, generation: int, **_: Any) -> Any:
    if existing.status.is_final and existing.generation < generation:
        return TakeOver(existing.token + 1, existing.attempt)
    return decide()


def _drop_while_alive(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return Duplicate(existing) if isinstance(decided, HideUntil) else decided


def _lost_answer_is_an_attempt(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return TakeOver(existing.token + 1, existing.attempt + 1) if isinstance(decided, Mine) else decided


def _read_before_claim(stack: ExitStack) -> None:
    claim_once = Executor.claim_once

    def claim(self: Any, deliveries: Sequence[Delivery]) -> Any:
        keys = {each.dispatch.job_key for each in deliveries if each.dispatch is not None}
        self.early = self._job_store.get_many(keys) if keys else {}
        return claim_once(self, deliveries)

    def read(self: Any, claimed: Sequence[LiveRun]) -> None:
        for live in claimed:
            self._admit_or_end(live, self.early.get(live.run.job_key))

    stack.enter_context(patch.object(Executor, "claim_once", claim))
    stack.enter_context(patch.object(Executor, "_read", read))


def _rows_deleted(self: MemoryRunStore, finishes: Any) -> Any:
    answers = _FINISH(self, finishes)
    for finish in finishes:
        if finish.reason == "superseded":
            self._tables.runs.pop(finish.key, None)
    return answers


_FINISH = MemoryRunStore.finish


def _never_too_early(delivery: Delivery, settings: Any, *, now: Instant, left_ms: float) -> Any:
    hidden = _ADMIT(delivery, settings, now=now, left_ms=left_ms)
    return None if hidden is not None and hidden.reason == "early" else hidden


_ADMIT = admit

MUTANTS = (
    Mutant("short_sweep", "a sweep looks back only 15 s", 100, _short_sweep),
    Mutant(
        "fresh_too_soon",
        "`fresh` is cleared before the checkpoint",
        100,
        _patch(Node, "checkpoint_once", _checkpoint_after_clearing),
    ),
    Mutant(
        "moved_unaccepted",
        "`next_at` is moved over a slot of the same answer that was not accepted",
        100,
        _patch(Shard, "_place", _place_without_waiting),
    ),
    Mutant("move_creates", "a move without attribute_exists", 100, _move_that_creates),
    Mutant("no_tombstone", "no tombstone on pause", 100, _patch(editor, "entry_of", _entry_unless_tombstone)),
    Mutant(
        "row_deleted", "the run row is deleted when superseded", 100, _patch(MemoryRunStore, "finish", _rows_deleted)
    ),
    Mutant(
        "over_succeeded", "an older generation is taken over although it SUCCEEDED", 100, _deciding(_over_succeeded)
    ),
    Mutant("dropped_alive", "a duplicate message is deleted while the run is alive", 100, _deciding(_drop_while_alive)),
    Mutant(
        "lost_answer_attempt", "a lost claim answer counts as an attempt", 100, _deciding(_lost_answer_is_an_attempt)
    ),
    Mutant(
        "epoch_unchecked",
        "the epoch is not checked at the checkpoint",
        100,
        _patch(MemoryFleetStore, "checkpoint", _checkpoint_of_anyone),
    ),
    Mutant(
        "watermark_ahead",
        "the watermark is ahead of sends in flight",
        100,
        _patch(Shard, "safe_watermark", _watermark_ahead),
    ),
    Mutant("read_before_claim", "the job is read before the claim", 100, _read_before_claim),
    Mutant(
        "silence_counted",
        "silence counts during a table outage",
        100,
        _patch(Observer, "observe", _observe_all_silence),
    ),
    Mutant(
        "row_expires",
        "a run row expires before its message",
        100,
        _patch(world_module, "WorkerSettings", lambda: WorkerSettings(run_retention_ms=MINUTE)),
    ),
    Mutant(
        "from_w",
        "enumeration starts at W instead of W - window",
        100,
        _patch(shard_module, "first_unsettled", _first_unsettled_from_w),
    ),
    Mutant("held_early", "a message too early is held without limit", 100, _patch(executor, "admit", _never_too_early)),
    # Found by the simulation in the real code, and put back.
    Mutant(
        "watermark_lowered",
        "after a lost answer a lower watermark is asked for, and believed",
        100,
        _patch(Shard, "ask", _watermark_forgetting),
    ),
    Mutant(
        "fresh_in_flight",
        "`fresh` is cleared over a slot sent during the checkpoint",
        100,
        _patch(Shard, "checkpointed", _checkpointed_over_flights),
    ),
    Mutant(
        "gap_row",
        "a gap is recorded under the run_id of its first slot",
        100,
        _patch(Due, "run_id", property(_run_id_of_first)),
    ),
    Mutant(
        "clock_bound_once",
        "a run is taken over one clock bound after its lease, not two",
        100,
        _patch(world_module, "WorkerSettings", lambda: WorkerSettings(clock_bound_ms=CLOCK_BOUND_MS)),
    ),
    Mutant(
        "completed_unnamed",
        "a DELETE of a completed job names no run",
        100,
        _patch(editor, "cancelled", _cancelled_with_answer),
    ),
)


def main(arguments: Sequence[str]) -> None:
    """`python -P -m tests.simulation.mutants [SEEDS [NAME ...]]`: how many seeds it takes to find each."""
    most = int(arguments[0]) if arguments else 300
    for mutant in MUTANTS:
        if arguments[1:] and mutant.name not in arguments[1:]:
            continue
        result = find(mutant, range(most))
        found = f"seed {result.seed}: {str(result.violations[0])[:140]}" if result else f"NOT FOUND in {most}"
        print(f"{mutant.name:<20} {found}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
