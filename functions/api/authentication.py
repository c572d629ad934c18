"""Who calls: the API key of a request, looked up at most once a minute."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from functions.api.backend import Backend
from functions.api.refusals import ScopeMissing, Unauthenticated
from shared.domain.access import KEY_PREFIX, ApiKey, Scope, split_key

#: How long a revoked key may still be admitted by a process that knows it.
CACHE_SECONDS = 60.0
#: A process serves few keys at a time; beyond this the oldest is forgotten.
CACHED_KEYS = 1_000

_BEARER = re.compile(r"Bearer +(\S+) *", re.IGNORECASE | re.ASCII)
#: Checked before the lookup, so that no odd text ever becomes part of a table's key.
_KEY_ID = re.compile(r"[A-Za-z0-9]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Caller:
    owner_id: str
    key_id: str
    scopes: frozenset[Scope]

    @property
    def name(self) -> str:
        """How records say who did it."""
        return f"key:{KEY_PREFIX}_{self.key_id}"

    def require(self, scope: Scope) -> None:
        """Raises ScopeMissing. A key has exactly the scopes it lists: write does not imply read."""
        if scope not in self.scopes:
            raise ScopeMissing(scope, self.scopes)


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Remembers keys it found; what it did not find is looked up each time, so that a new key works at once."""

    backend: Backend
    _known: dict[str, tuple[ApiKey, float]] = field(default_factory=dict)

    def caller_of(self, authorization: str | None) -> Caller:
        """The caller behind an `Authorization` header. Raises Unauthenticated."""
        if not authorization:
            raise Unauthenticated(was_given=False)
        found = _BEARER.fullmatch(authorization)
        parts = split_key(found.group(1)) if found else None
        if parts is None or not _KEY_ID.fullmatch(parts[0]):
            raise Unauthenticated(was_given=True)
        key_id, secret = parts
        key = self._key(key_id)
        if key is None or not key.admits(secret, self.backend.clock.now()):
            raise Unauthenticated(was_given=True)
        return Caller(key.owner_id, key.key_id, key.scopes)

    def _key(self, key_id: str) -> ApiKey | None:
        moment = self.backend.clock.monotonic()
        known = self._known.pop(key_id, None)
        if known is None or known[1] <= moment:
            key = self.backend.access.key(key_id)
            if key is None:
                return None
            known = (key, moment + CACHE_SECONDS)
        while len(self._known) >= CACHED_KEYS:
            self._known.pop(next(iter(self._known)))
        self._known[key_id] = known
        return known[0]
