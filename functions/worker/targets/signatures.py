"""Signatures of webhooks, as Standard Webhooks has them: one by each live key of the job's owner."""

from __future__ import annotations

from standardwebhooks import Webhook

from functions.worker.targets.remembered import Remembered
from shared.domain.instants import Instant, to_datetime
from shared.ports import AccessStore, Clock

REMEMBERED_SECONDS = 30.0


class Signatures:
    def __init__(self, access: AccessStore, clock: Clock) -> None:
        self._keys = Remembered(access.signing_keys, clock, seconds=REMEMBERED_SECONDS)

    def of(self, owner_id: str, webhook_id: str, at: Instant, body: str) -> str | None:
        """The value of `webhook-signature`; None when the owner has no key. Raises StoreError."""
        keys = self._keys(owner_id)
        return " ".join(Webhook(key.secret).sign(webhook_id, to_datetime(at), body) for key in keys) or None
