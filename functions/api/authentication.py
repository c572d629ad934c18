"""API keys: looked up at most once a minute, and checked here, so that every refusal is a problem+json."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from functions.api import audit
from functions.api.callers import Caller, Event
from functions.api.refusals import Unauthenticated
from shared.domain.access import KEY_PREFIX, ApiKey, split_key
from shared.observability.metrics import MetricLog
from shared.ports import AccessStore, Clock

#: How long a revoked key may still be admitted by a process that knows it.
CACHE_SECONDS = 60.0
#: A process serves few keys at a time; beyond this the oldest is forgotten.
CACHED_KEYS = 1_000

_BEARER = re.compile(r"Bearer +(\S+) *", re.IGNORECASE | re.ASCII)
#: Checked before the lookup, so that no odd text ever becomes part of a table's key.
_KEY_ID = re.compile(r"[A-Za-z0-9]{1,64}", re.ASCII)


def name_of_key(key_id: str) -> str:
    """How records name whoever used this key."""
    return f"key:{KEY_PREFIX}_{key_id}"


@dataclass(frozen=True, slots=True)
class KeyAuthenticator:
    """Remembers keys it found; what it did not find is looked up each time, so that a new key works at once."""

    access: AccessStore
    clock: Clock
    metrics: MetricLog
    _known: dict[str, tuple[ApiKey, float]] = field(default_factory=dict)

    def caller_of(self, event: Event) -> Caller:
        headers = event.get("headers") or {}
        authorization = next((text for name, text in headers.items() if name.lower() == "authorization"), None)
        if not authorization:
            raise Unauthenticated(was_given=False)
        found = _BEARER.fullmatch(authorization)
        parts = split_key(found.group(1)) if found else None
        if parts is None or not _KEY_ID.fullmatch(parts[0]):
            raise Unauthenticated(was_given=True)
        key_id, secret = parts
        key = self._key(key_id)
        refusal = "unknown" if key is None else key.refusal(secret, self.clock.now())
        if key is None or refusal is not None:
            audit.note_refused_key(name_of_key(key_id), refusal or "unknown", _request_id_of(event))
            self.metrics.put({"refused_keys": 1}, at=self.clock.now())
            raise Unauthenticated(was_given=True)
        return Caller(key.owner_id, name_of_key(key.key_id), key.scopes, key.expires_at)

    def _key(self, key_id: str) -> ApiKey | None:
        moment = self.clock.monotonic()
        known = self._known.pop(key_id, None)
        if known is None or known[1] <= moment:
            key = self.access.key(key_id)
            if key is None:
                return None
            known = (key, moment + CACHE_SECONDS)
        while len(self._known) >= CACHED_KEYS:
            self._known.pop(next(iter(self._known)))
        self._known[key_id] = known
        return known[0]


def _request_id_of(event: Event) -> str:
    return str((event.get("requestContext") or {}).get("requestId", ""))
