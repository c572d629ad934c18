"""Keys by which receivers of an owner's webhooks verify them, as Standard Webhooks have it.

A key reads `whsec_<base64>`. Two may live at once: each webhook is signed by both until the older one is removed, so
that a receiver changes keys without losing a call.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field

from shared.domain.instants import Instant

SIGNING_KEY_PREFIX = "whsec_"
#: Bytes of randomness in the id of a signing key and in its secret.
SIGNING_KEY_ID_BYTES = 6
SIGNING_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class SigningKey:
    """`secret` is the whole text; it is stored, for who signs must have it, and shown once."""

    owner_id: str
    key_id: str
    secret: str = field(repr=False)
    created_at: Instant
    created_by: str


def mint_signing_key(*, owner_id: str, created_by: str, now: Instant, randomness: bytes) -> SigningKey:
    """`randomness` is SIGNING_KEY_ID_BYTES + SIGNING_SECRET_BYTES long."""
    if len(randomness) != SIGNING_KEY_ID_BYTES + SIGNING_SECRET_BYTES:
        msg = f"a signing key takes {SIGNING_KEY_ID_BYTES + SIGNING_SECRET_BYTES} random bytes"
        raise ValueError(msg)
    return SigningKey(
        owner_id=owner_id,
        key_id=randomness[:SIGNING_KEY_ID_BYTES].hex(),
        secret=SIGNING_KEY_PREFIX + b64encode(randomness[SIGNING_KEY_ID_BYTES:]).decode(),
        created_at=now,
        created_by=created_by,
    )
