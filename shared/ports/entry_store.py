from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey


class EntryStore(Protocol):
    """Table `job_schedules` as the scheduler sees it. Entries are put by `JobStore.write` alone."""

    def due(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        """Pages of the shard's entries with since <= next_at <= until, in that order, strongly consistent.

        A page is read when it is asked for: an entry that moves meanwhile may be met twice or not at all, and a fault
        may strike between two pages.
        """
        ...

    def get(self, key: EntryKey) -> Entry | None:
        """Strongly consistent."""
        ...

    def delete(self, keys: Collection[EntryKey]) -> None:
        """Delete them, whoever asks: an accepted slot is a fact. Those that are gone already are no failure."""
        ...

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        """Raise `next_at` and clear `fresh`; False, and nothing written, when the entry is gone or not earlier.

        True again when it stands there already and is not fresh, so a lost answer is no loss.

        Never creates an entry: a delete that races with a move must win.
        """
        ...

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        """Mark them not fresh. Those that are gone stay gone."""
        ...
