from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from shared.adapters.memory.tables import MemoryTables
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey


class MemoryEntryStore:
    def __init__(self, tables: MemoryTables, *, page_size: int = 500) -> None:
        self._tables = tables
        self._page_size = page_size

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        return self._pages(shard, since, until, are_parked=False)

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        return self._pages(shard, since, until, are_parked=True)

    def _pages(self, shard: int, since: Instant, until: Instant, *, are_parked: bool) -> Iterator[list[Entry]]:
        after = (int(since), "")
        while True:
            with self._tables.lock:
                entries = list(self._tables.entries.get(shard, {}).values())
            left = sorted(
                (
                    entry
                    for entry in entries
                    if entry.key.is_parked is are_parked and _position(entry) > after and entry.next_at <= until
                ),
                key=_position,
            )
            page = left[: self._page_size]
            if page:
                yield page
            if len(left) <= self._page_size:
                return
            after = _position(page[-1])

    def get(self, key: EntryKey) -> Entry | None:
        with self._tables.lock:
            return self._tables.entries.get(key.shard, {}).get(key.entry_id)

    def delete(self, keys: Collection[EntryKey]) -> None:
        with self._tables.lock:
            for key in keys:
                self._tables.entries.get(key.shard, {}).pop(key.entry_id, None)

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        with self._tables.lock:
            of_shard = self._tables.entries.get(key.shard, {})
            entry = of_shard.get(key.entry_id) or of_shard.get(key.parked.entry_id)
            if entry is None or entry.next_at > next_at:
                return False
            if entry.next_at == next_at:
                return entry.key.is_parked
            del of_shard[entry.entry_id]
            self._tables.put_entry(replace(entry, entry_id=key.parked.entry_id, next_at=next_at, fresh=True))
            return True

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        with self._tables.lock:
            for key in keys:
                of_shard = self._tables.entries.get(key.shard, {})
                if key.entry_id in of_shard:
                    of_shard[key.entry_id] = replace(of_shard[key.entry_id], fresh=False)


def _position(entry: Entry) -> tuple[int, str]:
    return entry.next_at, entry.entry_id
