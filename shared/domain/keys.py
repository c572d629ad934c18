"""How owner, job, entry and run are named together.

`job_key` is `<owner_id>/<job_id>`; neither part may hold `/` or `#`, which the API enforces.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from shared.domain.instants import Instant, to_datetime


class RunKey(NamedTuple):
    job_key: str
    run_id: str


class EntryKey(NamedTuple):
    shard: int
    entry_id: str


def job_key(owner_id: str, job_id: str) -> str:
    return f"{owner_id}/{job_id}"


def owner_of(key: str) -> str:
    return key.partition("/")[0]


def job_id_of(key: str) -> str:
    return key.partition("/")[2]


def run_id_of(slot: Instant, suffix: str = "") -> str:
    """`20261127T013000000Z`: the slot, so that ids of one job sort by time; a suffix when no schedule made the slot."""
    return f"{_second(slot // 1000)}{slot % 1000:03d}Z{suffix}"


@lru_cache(maxsize=1024)
def _second(second: int) -> str:
    """Kept, for many jobs fire in one."""
    return to_datetime(Instant(second * 1000)).strftime("%Y%m%dT%H%M%S")
