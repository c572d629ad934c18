from __future__ import annotations

from dataclasses import replace

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.memory.tables import MemoryTables
from shared.domain.access import ApiKey, Receipt
from shared.domain.grants import Grant
from shared.domain.instants import Instant
from shared.domain.limits import MAX_GRANTS, MAX_SIGNING_KEYS
from shared.domain.pages import Page
from shared.domain.signing import SigningKey

_LIST = "keys"


class MemoryAccessStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def key(self, key_id: str) -> ApiKey | None:
        with self._tables.lock:
            return self._tables.keys.get(key_id)

    def put_key(self, key: ApiKey, *, receipt: Receipt | None = None) -> bool:
        with self._tables.lock:
            stored = self._tables.keys.get(key.key_id)
            if stored is not None or not self._keep(receipt):
                return stored == key
            self._tables.keys[key.key_id] = key
            return True

    def _keep(self, receipt: Receipt | None) -> bool:
        """False, and nothing kept, where another is in the way."""
        if self._tables.receipt_in_the_way(receipt) is not None:
            return False
        if receipt is not None:
            self._tables.put_receipt(receipt)
        return True

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

    def lease_requests(self, owner_id: str, *, window: Instant, count: int, limit: int, expires_at: Instant) -> bool:
        del expires_at
        with self._tables.lock:
            taken = self._tables.request_leases.get((owner_id, window), 0) + count
            if taken > limit:
                return False
            self._tables.request_leases[owner_id, window] = taken
            return True

    def book_starts(self, owner_id: str, *, at: Instant, length_ms: int) -> Instant:
        with self._tables.lock:
            start = max(at, self._tables.booked_until.get(owner_id, at))
            self._tables.booked_until[owner_id] = Instant(start + length_ms)
            return start

    def receipt(self, owner_id: str, idempotency_key: str) -> Receipt | None:
        with self._tables.lock:
            receipt = self._tables.receipts.get((owner_id, idempotency_key))
            clock = self._tables.clock
            has_expired = receipt is not None and clock is not None and clock.now() >= receipt.expires_at
            return None if has_expired else receipt

    def put_receipt(self, receipt: Receipt) -> Receipt | None:
        with self._tables.lock:
            stored = self._tables.receipt_in_the_way(receipt)
            if stored is None:
                self._tables.put_receipt(receipt)
            return None if stored == receipt else stored

    def grants(self, owner_id: str) -> tuple[Grant, ...]:
        with self._tables.lock:
            return self._tables.grants.get(owner_id, ())

    def put_grant(self, grant: Grant, *, receipt: Receipt | None = None) -> bool:
        with self._tables.lock:
            grants = self.grants(grant.owner_id)
            if grant in grants:
                return True
            if len(grants) >= MAX_GRANTS or any(each.grant_id == grant.grant_id for each in grants):
                return False
            if not self._keep(receipt):
                return False
            self._tables.grants[grant.owner_id] = (*grants, grant)
            return True

    def delete_grant(self, owner_id: str, grant_id: str) -> bool:
        with self._tables.lock:
            grants = self.grants(owner_id)
            left = tuple(each for each in grants if each.grant_id != grant_id)
            self._tables.grants[owner_id] = left
            return left != grants

    def signing_keys(self, owner_id: str) -> tuple[SigningKey, ...]:
        with self._tables.lock:
            return self._tables.signing_keys.get(owner_id, ())

    def put_signing_key(self, key: SigningKey, *, receipt: Receipt | None = None) -> bool:
        with self._tables.lock:
            keys = self.signing_keys(key.owner_id)
            if key in keys:
                return True
            if len(keys) >= MAX_SIGNING_KEYS or any(each.key_id == key.key_id for each in keys):
                return False
            if not self._keep(receipt):
                return False
            self._tables.signing_keys[key.owner_id] = (*keys, key)
            return True

    def delete_signing_key(self, owner_id: str, key_id: str) -> bool:
        with self._tables.lock:
            keys = self.signing_keys(owner_id)
            left = tuple(each for each in keys if each.key_id != key_id)
            self._tables.signing_keys[owner_id] = left
            return left != keys
