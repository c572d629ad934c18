"""Which shard a job belongs to. Never by time: time makes one hot shard.

The hash is fixed for ever (SHA-256, so that any language can repeat it); golden values are in the tests.
"""

from __future__ import annotations

from hashlib import sha256

#: Slices of an owner's rows in the indexes by owner, so that one owner makes no hot partition.
OWNER_SLICES = 8


def shard_of(job_key: str, shard_count: int) -> int:
    """The shard, 0 <= shard < shard_count, of every entry of this job."""
    return _hash(job_key) % shard_count


def owner_slice(owner_id: str, item: str) -> str:
    """The index partition `owner_id#<0..7>` of one of the owner's items."""
    return f"{owner_id}#{_hash(item) % OWNER_SLICES}"


def owner_slices(owner_id: str) -> list[str]:
    """All index partitions of an owner."""
    return [f"{owner_id}#{number}" for number in range(OWNER_SLICES)]


def _hash(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")
