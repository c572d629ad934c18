"""ULIDs: 26 characters that sort by the millisecond in which they were made. https://github.com/ulid/spec"""

from __future__ import annotations

from shared.domain.instants import Instant

RANDOM_BYTES = 10
LENGTH = 26
#: Crockford's: without I, L, O and U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def ulid(now: Instant, randomness: bytes) -> str:
    """48 bits of time, then the 80 bits of `randomness` (RANDOM_BYTES)."""
    if len(randomness) != RANDOM_BYTES:
        msg = f"a ULID takes {RANDOM_BYTES} random bytes, not {len(randomness)}"
        raise ValueError(msg)
    number = (now << 8 * RANDOM_BYTES) | int.from_bytes(randomness, "big")
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(5 * (LENGTH - 1), -1, -5))
