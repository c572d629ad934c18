"""Conditions of writes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from shared.adapters.memory import MemoryEntryStore, MemoryFleetStore, MemoryJobStore, MemoryRunStore
from shared.domain.entry import Entry
from shared.domain.fleet import Lease
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.ports import JobWrite
from tests.simulation.planted.mutant import Mutant, instead


def _move_that_creates(stack: ExitStack) -> None:
    ghosts: dict[EntryKey, Entry] = {}

    def apply(self: MemoryJobStore, change: JobWrite) -> None:
        if change.put_entry is not None:
            ghosts[change.put_entry.key.parked] = change.put_entry
        original_apply(self, change)

    def move(self: MemoryEntryStore, key: EntryKey, next_at: Instant) -> bool:
        of_shard = self._tables.entries.setdefault(key.shard, {})
        if not {key.entry_id, key.parked.entry_id} & of_shard.keys() and key.parked in ghosts:
            parked = key.parked.entry_id
            of_shard[parked] = replace(ghosts[key.parked], entry_id=parked, next_at=next_at, fresh=True)
        return original_move(self, key, next_at)

    original_apply, original_move = MemoryJobStore._apply, MemoryEntryStore.move
    stack.enter_context(patch.object(MemoryJobStore, "_apply", apply))
    stack.enter_context(patch.object(MemoryEntryStore, "move", move))


def _checkpoint_of_anyone(self: MemoryFleetStore, lease: Lease) -> bool:
    stored = self._lease(lease.shard)
    self._tables.leases[lease.shard] = replace(stored, watermark=max(stored.watermark, lease.watermark))
    return True


def _finish_and_delete_superseded(self: MemoryRunStore, finishes: Any) -> Any:
    answers = _FINISH(self, finishes)
    for finish in finishes:
        if finish.reason == "superseded" and finish.key in self._tables.runs:
            self._tables.remove_run(finish.key)
    return answers


_FINISH = MemoryRunStore.finish


REQUIRED = (
    Mutant("move_creates", "a move creates no entry (attribute_exists)", _move_that_creates),
    Mutant(
        "row_deleted",
        "a superseded run keeps its row",
        instead(MemoryRunStore, "finish", _finish_and_delete_superseded),
    ),
    Mutant(
        "epoch_unchecked",
        "a checkpoint is conditional on owner and epoch",
        instead(MemoryFleetStore, "checkpoint", _checkpoint_of_anyone),
    ),
)
