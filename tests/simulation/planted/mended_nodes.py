"""Faults of scheduler nodes that were found by other means, mended, and planted again."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfoNotFoundError

from functions.scheduler.clock_guard import ClockGuard
from functions.scheduler.dispatching import Dispatcher
from functions.scheduler.outbox import BATCH, MOST_WAITING, Outbox
from functions.scheduler.shard import Shard
from shared.domain.instants import Instant
from shared.ports import StoredEntry
from tests.simulation.planted.mutant import Mutant, instead


def _send_all_or_lose(self: Dispatcher, *, hurry: bool) -> int:
    """What a queue raises ends the spread, and nobody answers for the batches that had not begun."""
    with self.owned.lock:
        rows = self.owned.settings.most_rows - len(self.recorder)
        taken = self.outbox.take(at=self.owned.ports.clock.monotonic(), hurry=hurry, rows=rows)
    batches = [
        (lane, dues[first : first + BATCH]) for lane, dues in taken.items() for first in range(0, len(dues), BATCH)
    ]
    return sum(self.spread(lambda batch: self._send(*batch), batches))


def _any_clock_agrees(*_: Any) -> bool:
    return True


def _never_set_aside(self: Shard, entry: StoredEntry, now: Instant) -> bool:
    raise ZoneInfoNotFoundError(f"{entry.entry_id} at {now} in shard {self.number}")


def _room_for_all(self: Outbox, name: str) -> int:
    return _FREE_IN(self, name) + MOST_WAITING


_FREE_IN = Outbox.free_in


MENDED = (
    Mutant(
        "outbox_unbounded",
        "while a queue is away no more slots wait for it in memory than may",
        instead(Outbox, "free_in", _room_for_all),
        family="full_outboxes",
    ),
    Mutant(
        "batches_lost",
        "what a queue raises keeps no other batch from its turn: all that was not sent goes back",
        instead(Dispatcher, "_send_all", _send_all_or_lose),
        family="odd_sends",
    ),
    Mutant(
        "wrong_clock_fires",
        "a node whose clock does not agree with the store's fires and skips nothing",
        instead(ClockGuard, "agrees", _any_clock_agrees),
        family="leaping_clocks",
    ),
    Mutant(
        "unreadable_stops_shard",
        "an entry that cannot be read is set aside, and stops no other",
        instead(Shard, "set_aside", _never_set_aside),
        family="unreadable_rows",
    ),
)
