"""How owner, job, entry and run are named together.

`job_key` is `<owner_id>/<job_id>`; neither part may hold `/` or `#`, which the API enforces.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from shared.domain.instants import Instant, to_datetime

#: Behind every digit, so that no range of instants reaches what is parked.
_PARKED = "~"


class RunKey(NamedTuple):
    job_key: str
    run_id: str


class EntryKey(NamedTuple):
    shard: int
    entry_id: str

    @property
    def is_parked(self) -> bool:
        return self.entry_id.startswith(_PARKED)

    @property
    def parked(self) -> EntryKey:
        """Where a scheduler parks the entry of this schedule; of a parked one, this very key."""
        return self if self.is_parked else EntryKey(self.shard, parked_id(self.entry_id.partition("#")[2]))


def job_key(owner_id: str, job_id: str) -> str:
    return f"{owner_id}/{job_id}"


def owner_of(key: str) -> str:
    return key.partition("/")[0]


def job_id_of(key: str) -> str:
    return key.partition("/")[2]


def announced_id(at: int, name: str) -> str:
    """The id of an entry that lies under the instant `at`: ids sort by it. `name` makes it unique."""
    return f"{at:016d}#{name}"


def parked_id(name: str) -> str:
    return _PARKED + name


def announced_at(entry_id: str) -> Instant:
    """The instant under which an entry that is not parked lies."""
    return Instant(int(entry_id.partition("#")[0]))


def schedule_name(key: str, generation: int) -> str:
    """What the entry of this generation of a job is called, wherever it lies."""
    return f"{key}#{generation}"


def schedule_of(entry_id: str) -> tuple[str, int] | None:
    """The job_key and the generation of an entry, from its id; None where it is not that of a schedule."""
    name = entry_id[1:] if entry_id.startswith(_PARKED) else entry_id.partition("#")[2]
    key, _, generation = name.partition("#")
    # A single fire that no schedule made has more parts.
    return (key, int(generation)) if generation.isdecimal() else None


def run_id_of(slot: Instant, suffix: str = "") -> str:
    """`20261127T013000000Z`: the slot, so that ids of one job sort by time; a suffix when no schedule made the slot."""
    return f"{_second(slot // 1000)}{slot % 1000:03d}Z{suffix}"


def gap_id_of(first: Instant, last: Instant) -> str:
    """Of the row that stands for slots which are not fired. Its own: the first of them may have been fired, and have a
    row, before the others were missed; and the next one to look may find a longer gap.
    """
    return f"{run_id_of(first)}-{run_id_of(last)}"


@lru_cache(maxsize=1024)
def _second(second: int) -> str:
    """Kept, for many jobs fire in one."""
    return to_datetime(Instant(second * 1000)).strftime("%Y%m%dT%H%M%S")
