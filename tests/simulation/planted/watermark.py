"""What the watermark speaks for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from functions.scheduler import shard as shard_module
from functions.scheduler.keeping import Keeper
from functions.scheduler.shard import Shard
from functions.scheduler.unsettled import Unsettled
from shared.domain.entry import Entry, first_unsettled
from shared.domain.fleet import Lease
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.domain.schedules import fire_at, slots
from tests.simulation.planted.mutant import Mutant, instead


def _checkpoint_after_clearing(self: Keeper) -> None:
    for shard in list(self.owned.shards.values()):
        fired = [
            EntryKey(shard.number, resident.entry_id)
            for key in list(shard.fresh._fresh)
            if (resident := shard._residents[key]).slot is None
            or resident.slot != first_unsettled(resident.entry, shard.lease.watermark)
        ]
        if fired:
            self.owned.ports.entries.clear_fresh(fired)
            shard.fresh.cleared({key.entry_id for key in fired})
    _CHECKPOINT(self)


_CHECKPOINT = Keeper.checkpoint_once


def _place_without_waiting(self: Shard, resident: Any, due: Instant | None, now: Instant) -> None:
    before, resident.unsettled = resident.unsettled, 0
    try:
        _PLACE(self, resident, due, now)
    finally:
        resident.unsettled = before


_PLACE = Shard._place


def _watermark_ahead(self: Shard) -> Instant | None:
    fires = self.fires
    before, fires.unsettled = fires.unsettled, replace(fires.unsettled, _fire_at={})
    try:
        return _SAFE_WATERMARK(self)
    finally:
        fires.unsettled = before


_SAFE_WATERMARK = Shard.safe_watermark


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


def _safe_watermark_of_all(self: Unsettled, *, read_until: Instant, stored: Instant) -> Instant | None:
    return _SAFE_OF_UNSETTLED(self, read_until=max(read_until, self.drained_until), stored=stored)


_SAFE_OF_UNSETTLED = Unsettled.safe_watermark


def _ask_and_forget(self: Shard, watermark: Instant) -> Lease:
    return replace(self.lease, watermark=watermark)


REQUIRED = (
    Mutant(
        "fresh_too_soon",
        "`fresh` is cleared only after the checkpoint",
        instead(Keeper, "checkpoint_once", _checkpoint_after_clearing),
    ),
    Mutant(
        "moved_unaccepted",
        "`next_at` is not moved over a slot of the same answer that was not accepted",
        instead(Shard, "_place", _place_without_waiting),
    ),
    Mutant(
        "watermark_ahead",
        "W stays before what is in flight",
        instead(Shard, "safe_watermark", _watermark_ahead),
    ),
    Mutant(
        "from_w",
        "enumeration starts at W - window",
        instead(shard_module, "first_unsettled", _first_unsettled_from_w),
    ),
)
OWN = (
    Mutant(
        "uncovered",
        "W does not pass what was not read",
        instead(Unsettled, "safe_watermark", _safe_watermark_of_all),
        family="crowded_for_long",
    ),
)
FOUND = (
    Mutant(
        "watermark_lowered",
        "after a lost answer no lower W is asked for and believed",
        instead(Shard, "ask", _ask_and_forget),
        worlds=lambda profile: "fleet.checkpoint" in profile.focus,
    ),
)
