"""An entry in memory. A node holds half a million of them, so a recurring one is kept as what only it has: at a third
of what it weighs as it was read. What many have alike (`Terms`, their schedule) they share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from functions.scheduler.weights import Weights
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import announced_id, parked_id, schedule_name
from shared.domain.run import RunKind
from shared.domain.schedules import Misfire, Schedule

#: Different terms that are shared; what has rarer ones weighs a little more.
SHARED_TERMS = 1_024


@dataclass(frozen=True, slots=True)
class Terms:
    """What entries of a shard mostly have alike."""

    shard: int
    lane: str
    misfire: Misfire
    kind: RunKind


shared_terms = lru_cache(maxsize=SHARED_TERMS)(Terms)


@dataclass(slots=True)
class Resident:
    """`slot` waits in the wheel; None when nothing of it does."""

    key: str
    generation: int
    from_at: Instant
    next_at: Instant
    is_parked: bool
    #: Until the watermark speaks for it.
    is_fresh: bool
    slot: Instant | None
    schedule: Schedule | None
    #: The entry itself, where it fires only once.
    rest: Terms | Entry
    unsettled: int = 0

    @property
    def entry_id(self) -> str:
        if isinstance(self.rest, Entry):
            return self.rest.entry_id
        name = schedule_name(self.key, self.generation)
        return parked_id(name) if self.is_parked else announced_id(self.next_at, name)

    @property
    def is_single(self) -> bool:
        return isinstance(self.rest, Entry)

    @property
    def lane(self) -> str:
        return self.rest.lane

    @property
    def misfire(self) -> Misfire:
        return self.rest.misfire

    @property
    def entry(self) -> Entry:
        """As it would be read now."""
        rest = self.rest
        if isinstance(rest, Entry):
            return rest
        return Entry(
            shard=rest.shard,
            entry_id=self.entry_id,
            job_key=self.key,
            generation=self.generation,
            next_at=self.next_at,
            from_at=self.from_at,
            lane=rest.lane,
            schedule=self.schedule,
            misfire=rest.misfire,
            fresh=self.is_fresh,
            kind=rest.kind,
        )


def key_of(entry: Entry) -> str:
    """What an entry goes by in memory: a job has one, of one generation; single fires each go by themselves."""
    return entry.entry_id if entry.schedule is None else entry.job_key


def find(residents: Mapping[str, Resident], entry: Entry) -> Resident | None:
    """This very entry, in memory."""
    resident = residents.get(key_of(entry))
    return resident if resident is not None and resident.generation == entry.generation else None


def resident_of(entry: Entry, slot: Instant | None, weights: Weights) -> Resident:
    """`slot` is the next that is to be fired."""
    schedule = weights.take(entry.schedule, is_single=entry.is_single)
    rest: Terms | Entry
    if entry.is_single:
        rest = replace(entry, schedule=schedule)
    else:
        rest = shared_terms(entry.shard, entry.lane, entry.misfire, entry.kind)
    # Equal instants become one object: half a million times 32 bytes.
    from_at = Instant(entry.generation) if entry.from_at == entry.generation else entry.from_at
    next_at = from_at if entry.next_at == from_at else entry.next_at
    return Resident(
        key=key_of(entry),
        generation=entry.generation,
        from_at=from_at,
        next_at=next_at,
        is_parked=entry.key.is_parked,
        is_fresh=entry.fresh,
        slot=slot,
        schedule=schedule,
        rest=rest,
    )
