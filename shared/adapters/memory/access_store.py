from __future__ import annotations

from dataclasses import replace

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.memory.tables import MemoryTables
from shared.domain.access import ApiKey, Receipt
from shared.domain.instants import Instant
from shared.domain.pages import Page

_LIST = "keys"


class MemoryAccessStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def key(self, key_id: str) -> ApiKey | None:
        with self._tables.lock:
            return self._tables.keys.get(key_id)

    def put_key(self, key: ApiKey) -> bool:
        with self._tables.lock:
            return self._tables.keys.setdefault(key.key_id, key) == key

    def revoke_key(self, key_id: str, *, at: Instant) -> bool:
        with self._tables.lock:
            key = self._tables.keys.get(key_id)
            if key is None:
                return False
            if key.revoked_at is None:
                self._tables.keys[key_id] = replace(key, revoked_at=at)
            return True

    def keys_of_owner(self, owner_id: str, *, limit: int, cursor: str | None = None) -> Page[ApiKey]:
        after = "" if cursor is None else decode_cursor(cursor, _LIST, owner_id)
        if not isinstance(after, str):
            raise foreign_cursor()
        with self._tables.lock:
            ids = sorted(key.key_id for key in self._tables.keys.values() if key.owner_id == owner_id)
            left = [key_id for key_id in ids if key_id > after]
            page = tuple(self._tables.keys[key_id] for key_id in left[:limit])
        return Page(page, encode_cursor(_LIST, owner_id, page[-1].key_id) if len(left) > limit else None)

    def receipt(self, owner_id: str, idempotency_key: str) -> Receipt | None:
        with self._tables.lock:
            receipt = self._tables.receipts.get((owner_id, idempotency_key))
            clock = self._tables.clock
            has_expired = receipt is not None and clock is not None and clock.now() >= receipt.expires_at
            return None if has_expired else receipt
