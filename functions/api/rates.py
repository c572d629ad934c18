"""Requests per second of an owner, whatever keys it has.

HTTP APIs cannot throttle per client, and a process knows only its own share. So a window's requests are kept in a row
of table `access`, and each process takes them from there by lots: one write for many requests, and no more are admitted
than there are, however many processes there are. A lot that a process does not use up is lost with its window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from functions.api import audit
from functions.api.refusals import TooManyRequests
from shared.domain.errors import StoreError
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.limits import REQUEST_WINDOW_MS
from shared.ports import AccessStore, Clock

#: More processes than this at once may be refused though the others have some left.
LOTS: Final = 50
#: Owners whose lots a process remembers.
_REMEMBERED: Final = 1_000


@dataclass(slots=True)
class _Lot:
    window: Instant
    left: int


@dataclass(frozen=True, slots=True)
class Rates:
    access: AccessStore
    clock: Clock
    per_second: int
    _lots: dict[str, _Lot] = field(default_factory=dict)

    def admit(self, owner_id: str, request_id: str) -> None:
        """Count one request. Raises TooManyRequests."""
        now = self.clock.now()
        window = Instant(now - now % REQUEST_WINDOW_MS)
        lot = self._lots.pop(owner_id, None)
        if lot is None or lot.window != window:
            lot = _Lot(window, 0)
        # -1 once a lot was refused: nothing is asked again until the window ends.
        if lot.left == 0:
            lot.left = self._lease(owner_id, window, request_id)
        while len(self._lots) >= _REMEMBERED:
            self._lots.pop(next(iter(self._lots)))
        self._lots[owner_id] = lot
        if lot.left < 0:
            seconds = -(-(window + REQUEST_WINDOW_MS - now) // SECOND)
            raise TooManyRequests(self.per_second, retry_after_seconds=seconds)
        lot.left -= 1

    def _lease(self, owner_id: str, window: Instant, request_id: str) -> int:
        """How many were taken; -1 when none is left."""
        limit = self.per_second * REQUEST_WINDOW_MS // SECOND
        count = max(1, limit // LOTS)
        expires_at = Instant(window + REQUEST_WINDOW_MS + MINUTE)
        try:
            taken = self.access.lease_requests(owner_id, window=window, count=count, limit=limit, expires_at=expires_at)
        except StoreError as error:
            # The limit protects the tables; when the table itself is in trouble, the request finds out soon enough.
            audit.record_fault(error, request_id)
            return count
        return count if taken else -1
