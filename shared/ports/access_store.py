from __future__ import annotations

from typing import Protocol

from shared.domain.access import ApiKey, Receipt
from shared.domain.instants import Instant
from shared.domain.pages import Page


class AccessStore(Protocol):
    """Table `access`: API keys, and the receipts of Idempotency-Keys (written by `JobStore.write`)."""

    def key(self, key_id: str) -> ApiKey | None:
        """Strongly consistent, so that a revoked key is refused at once by whoever has not cached it."""
        ...

    def put_key(self, key: ApiKey) -> bool:
        """Store a new key; False, and nothing written, when its id is taken."""
        ...

    def revoke_key(self, key_id: str, *, at: Instant) -> bool:
        """Set revoked_at unless it is set; False when there is no such key."""
        ...

    def keys_of_owner(self, owner_id: str, *, limit: int, cursor: str | None = None) -> Page[ApiKey]:
        """The owner's keys, in no particular order."""
        ...

    def receipt(self, owner_id: str, idempotency_key: str) -> Receipt | None:
        """Strongly consistent. One past its `expires_at` counts as none."""
        ...
