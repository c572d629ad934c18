"""API keys and idempotent answers: the values of table `access`.

A key reads `crl_<key_id>_<secret>`; only the SHA-256 of its secret is stored.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from shared.domain.instants import Instant
from shared.domain.keys import RunKey

KEY_PREFIX = "crl"
#: Bytes of randomness in a key id and in a secret.
KEY_ID_BYTES = 6
SECRET_BYTES = 32


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class ApiKey:
    key_id: str
    owner_id: str
    secret_hash: str
    scopes: frozenset[Scope]
    created_at: Instant
    created_by: str
    name: str = ""
    expires_at: Instant | None = None
    revoked_at: Instant | None = None

    def is_live(self, now: Instant) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def admits(self, secret: str, now: Instant) -> bool:
        """The secret is right and the key is neither revoked nor expired."""
        return self.refusal(secret, now) is None

    def refusal(self, secret: str, now: Instant) -> str | None:
        """Why it is not admitted, which is nobody's business but the operator's. Compared in constant time."""
        if not hmac.compare_digest(hash_secret(secret), self.secret_hash):
            return "wrong secret"
        if self.revoked_at is not None:
            return "revoked"
        return None if self.is_live(now) else "expired"


def hash_secret(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def mint_key(
    *,
    owner_id: str,
    scopes: frozenset[Scope],
    created_by: str,
    now: Instant,
    randomness: bytes,
    name: str = "",
    expires_at: Instant | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its text, which is shown once and never stored.

    `randomness` is KEY_ID_BYTES + SECRET_BYTES long.
    """
    if len(randomness) != KEY_ID_BYTES + SECRET_BYTES:
        msg = f"a key takes {KEY_ID_BYTES + SECRET_BYTES} random bytes"
        raise ValueError(msg)
    key_id = randomness[:KEY_ID_BYTES].hex()
    secret = urlsafe_b64encode(randomness[KEY_ID_BYTES:]).decode().rstrip("=")
    key = ApiKey(
        key_id=key_id,
        owner_id=owner_id,
        secret_hash=hash_secret(secret),
        scopes=scopes,
        created_at=now,
        created_by=created_by,
        name=name,
        expires_at=expires_at,
    )
    return key, f"{KEY_PREFIX}_{key_id}_{secret}"


def split_key(text: str) -> tuple[str, str] | None:
    """`(key_id, secret)` of a key's text, or None when it is no key of ours."""
    prefix, _, rest = text.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix != KEY_PREFIX or not key_id or not secret:
        return None
    return key_id, secret


@dataclass(frozen=True, slots=True)
class Chosen:
    """A run that a redrive or a backfill chose, or, without a run_id, a job that a change of many chose. Under a higher
    token than this one the run is under way again; None: it had no row.
    """

    key: RunKey
    token: int | None = None
    #: Why it was not run again when it was chosen, nor is by a repeat of the request.
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an Idempotency-Key did, written in one transaction with its effect; of a request whose effects are many,
    what it is to do, written before.

    The answer itself is not stored: creating from the same body at the same instant with the same ids gives it again.
    `fingerprint` is the SHA-256 of method, path and body.
    """

    owner_id: str
    idempotency_key: str
    fingerprint: str
    at: Instant
    expires_at: Instant
    job_id: str = ""
    generation: int = 0
    revision: int = 0
    #: Of the run that the request planned, if it did.
    run_id: str | None = None
    #: Of the key, signing key or grant that the request made; such a request has no job.
    access_id: str | None = None
    #: Of a request about many runs or jobs: those it chose, and where its list went on.
    chosen: tuple[Chosen, ...] = ()
    next_cursor: str | None = None
