from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey


class StoredEntry(Protocol):
    """An entry where it lies in the table. What it says is decoded by `read` alone: who knows it already need not, and
    one that this release cannot read hides no other.
    """

    @property
    def entry_id(self) -> str: ...

    @property
    def next_at(self) -> Instant: ...

    @property
    def is_spoken_for(self) -> bool:
        """The shard's watermark speaks for it: it fires more than once, and it is not fresh."""
        ...

    def read(self) -> Entry:
        """Raises whatever its decoding does: it may be of a later release, or damaged."""
        ...


class EntryStore(Protocol):
    """Table `job_schedules` as the scheduler sees it. Entries are put by `JobStore.write`, and single fires by
    `RunStore.plan` and `postpone`.
    """

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[Sequence[StoredEntry]]:
        """Pages of the shard's entries that are not parked, with since <= next_at <= until, in that order, strongly
        consistent.

        A page is read when it is asked for, and a fault may strike between two pages. An entry that is parked meanwhile
        may be missing: who reads `parked` after this meets it there.
        """
        ...

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[Sequence[StoredEntry]]:
        """The same of the entries that are parked. One that moves meanwhile may be met twice, or, when it moves behind
        `until`, not at all.
        """
        ...

    def get(self, key: EntryKey) -> StoredEntry | None:
        """Strongly consistent."""
        ...

    def delete(self, keys: Collection[EntryKey]) -> None:
        """Delete them, whoever asks: an accepted slot is a fact. Those that are gone already are no failure."""
        ...

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        """Park the entry under `next_at`, fresh, whether it was announced or parked until now; False, and nothing
        written, when it is gone or not earlier.

        An entry that cannot be read is moved like any other.

        True again when it is parked there already, so a lost answer is no loss. Of an entry that somebody else has
        parked since, that one is meant.

        Never creates an entry: a delete that races with a move must win.
        """
        ...

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        """Mark them not fresh. Those that are gone stay gone."""
        ...
