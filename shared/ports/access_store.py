from __future__ import annotations

from typing import Protocol

from shared.domain.access import ApiKey, Receipt
from shared.domain.grants import Grant
from shared.domain.instants import Instant
from shared.domain.pages import Page
from shared.domain.signing import SigningKey


class AccessStore(Protocol):
    """Table `access`: API keys, the receipts of Idempotency-Keys, and of each owner the grants and the keys that sign
    webhooks.

    A receipt that is given with what it stands for is written in one transaction with it. Where its Idempotency-Key was
    used before, nothing is written and the answer is False; `receipt` says for what.
    """

    def key(self, key_id: str) -> ApiKey | None:
        """Strongly consistent, so that a revoked key is refused at once by whoever has not cached it."""
        ...

    def put_key(self, key: ApiKey, *, receipt: Receipt | None = None) -> bool:
        """Store a new key; False, and nothing written, when its id is taken."""
        ...

    def revoke_key(self, key_id: str, *, at: Instant) -> bool:
        """Set revoked_at unless it is set; False when there is no such key."""
        ...

    def keys_of_owner(self, owner_id: str, *, limit: int, cursor: str | None = None) -> Page[ApiKey]:
        """The owner's keys, in no particular order."""
        ...

    def lease_requests(self, owner_id: str, *, window: Instant, count: int, limit: int, expires_at: Instant) -> bool:
        """Take `count` of the `limit` requests that an owner may make in the window that starts at `window`.

        False, and nothing taken, when fewer are left. After a lost answer they may be taken twice.
        """
        ...

    def book_starts(self, owner_id: str, *, at: Instant, length_ms: int) -> Instant:
        """Where the next `length_ms` begin that no redrive of the owner has booked, not before `at`; they are booked.

        After a lost answer they may be booked twice, which leaves a gap.
        """
        ...

    def receipt(self, owner_id: str, idempotency_key: str) -> Receipt | None:
        """Strongly consistent. One past its `expires_at` counts as none."""
        ...

    def put_receipt(self, receipt: Receipt) -> Receipt | None:
        """Store a receipt by itself; None, or the one that is in the way, and nothing written."""
        ...

    def grants(self, owner_id: str) -> tuple[Grant, ...]:
        """All of the owner's, oldest first. Strongly consistent."""
        ...

    def put_grant(self, grant: Grant, *, receipt: Receipt | None = None) -> bool:
        """Store a new grant; False, and nothing written, when its id is taken or the owner has MAX_GRANTS."""
        ...

    def delete_grant(self, owner_id: str, grant_id: str) -> bool:
        """False when there is no such grant."""
        ...

    def signing_keys(self, owner_id: str) -> tuple[SigningKey, ...]:
        """All of the owner's, oldest first. Strongly consistent."""
        ...

    def put_signing_key(self, key: SigningKey, *, receipt: Receipt | None = None) -> bool:
        """Store a new key; False, and nothing written, when its id is taken or the owner has MAX_SIGNING_KEYS."""
        ...

    def delete_signing_key(self, owner_id: str, key_id: str) -> bool:
        """False when there is no such key."""
        ...
