"""The code that is planted in place of the real one: each function leaves out one rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from functions.scheduler.due import Due
from functions.scheduler.keeping import Keeper
from functions.scheduler.membership import Observer
from functions.scheduler.shard import Shard
from functions.worker.admission import admit
from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from shared.adapters.memory import MemoryEntryStore, MemoryFleetStore, MemoryJobStore, MemoryRunStore
from shared.domain.entry import Entry, entry_of, first_unsettled
from shared.domain.fleet import Lease
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Cancellation, CancelOutcome, JobState, cancelled
from shared.domain.keys import EntryKey, run_id_of
from shared.domain.run import Duplicate, HideUntil, Mine, TakeOver, decide_claim
from shared.domain.schedules import fire_at, slots
from shared.domain.timing import Timing
from shared.ports import Delivery, JobWrite
from tests.simulation import world as world_module

# Scheduler -----------------------------------------------------------------------------------------------------------


def short_sweep(stack: ExitStack) -> None:
    stack.enter_context(patch.object(Timing, "check", lambda _: None))
    stack.enter_context(patch.object(world_module, "Timing", lambda: Timing(margin_ms=15 * SECOND)))


def checkpoint_after_clearing(self: Keeper) -> None:
    for shard in list(self.owned.shards.values()):
        fired = [
            EntryKey(shard.number, entry_id)
            for entry_id in list(shard._fresh)
            if (resident := shard._residents[entry_id]).slot is None
            or resident.slot != first_unsettled(resident.entry, shard.lease.watermark)
        ]
        if fired:
            self.owned.ports.entries.clear_fresh(fired)
            shard.cleared_fresh(fired)
    _CHECKPOINT(self)


_CHECKPOINT = Keeper.checkpoint_once


def place_without_waiting(self: Shard, resident: Any, now: Instant) -> None:
    before, resident.unsettled = resident.unsettled, 0
    try:
        _PLACE(self, resident, now)
    finally:
        resident.unsettled = before


_PLACE = Shard._place


def move_that_creates(stack: ExitStack) -> None:
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


def checkpoint_of_anyone(self: MemoryFleetStore, lease: Lease) -> bool:
    stored = self._lease(lease.shard)
    self._tables.leases[lease.shard] = replace(stored, watermark=max(stored.watermark, lease.watermark))
    return True


def watermark_ahead(self: Shard) -> Instant | None:
    before, self._unsettled = self._unsettled, {}
    try:
        return _SAFE_WATERMARK(self)
    finally:
        self._unsettled = before


_SAFE_WATERMARK = Shard.safe_watermark


def watermark_forgetting(self: Shard, watermark: Instant) -> Lease:
    return replace(self.lease, watermark=watermark)


def checkpointed_over_flights(self: Shard, lease: Lease) -> list[EntryKey]:
    before, self._unsettled = self._unsettled, {}
    try:
        return _CHECKPOINTED(self, lease)
    finally:
        self._unsettled = before


_CHECKPOINTED = Shard.checkpointed


def settle_anything(self: Shard, due: Due) -> None:
    self._unsettled.setdefault((due.entry.entry_id, due.slot, due.gap), due.fire_at)
    _SETTLE(self, due)


_SETTLE = Shard.settle


def first_unsettled_from_w(entry: Entry, watermark: Instant) -> Instant | None:
    if entry.is_single:
        return entry.slot
    if entry.schedule is None:
        return None
    floor = entry.next_at if entry.fresh else max(watermark + 1, entry.next_at)
    for slot in slots(entry.schedule, Instant(max(entry.from_at, floor) - 1)):
        if fire_at(entry.schedule, entry.job_key, slot) >= floor:
            return slot
    return None


def observe_all_silence(self: Observer, nodes: Any, *, at: float) -> None:
    self.longest_step_ms = 10**12
    _OBSERVE(self, nodes, at=at)


_OBSERVE = Observer.observe


def run_id_of_first(self: Due) -> str:
    return self.entry.run_id if self.entry.run_id is not None else run_id_of(self.slot)


# API -----------------------------------------------------------------------------------------------------------------


def entry_unless_tombstone(*args: Any, **kwargs: Any) -> Entry | None:
    entry = entry_of(*args, **kwargs)
    return None if entry.is_tombstone else entry


def cancelled_with_answer(job: Any, **given: Any) -> Any:
    after = _CANCELLED(job, **given)
    is_over = job.state is JobState.COMPLETED
    return replace(after, cancellation=Cancellation(CancelOutcome.ALREADY_ENDED)) if is_over else after


_CANCELLED = cancelled

# Worker --------------------------------------------------------------------------------------------------------------


_DECIDE = decide_claim


def over_succeeded(existing: Any, decide: Callable[[], Any], *, generation: int, **_: Any) -> Any:
    if existing.status.is_final and existing.generation < generation:
        return TakeOver(existing.token + 1, existing.attempt)
    return decide()


def drop_while_alive(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return Duplicate(existing) if isinstance(decided, HideUntil) else decided


def lost_answer_is_an_attempt(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return TakeOver(existing.token + 1, existing.attempt + 1) if isinstance(decided, Mine) else decided


def read_before_claim(stack: ExitStack) -> None:
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


def rows_deleted(self: MemoryRunStore, finishes: Any) -> Any:
    answers = _FINISH(self, finishes)
    for finish in finishes:
        if finish.reason == "superseded":
            self._tables.runs.pop(finish.key, None)
    return answers


_FINISH = MemoryRunStore.finish


def never_too_early(delivery: Delivery, settings: Any, *, now: Instant, left_ms: float) -> Any:
    hidden = _ADMIT(delivery, settings, now=now, left_ms=left_ms)
    return None if hidden is not None and hidden.reason == "early" else hidden


_ADMIT = admit
