"""A slot that is due, or a gap of slots that are not fired."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.job import is_last_slot
from shared.domain.keys import RunKey, gap_id_of, run_id_of
from shared.domain.run import RunKind
from shared.domain.schedules import Gap, fire_at

#: What is in flight: entry, slot, and the gap if it is one.
Flight: TypeAlias = tuple[str, Instant, Gap | None]


@dataclass(frozen=True, slots=True)
class Due:
    """A slot to hand over to a lane, or, with `gap`, slots that will not be fired and get one SKIPPED row."""

    shard: int
    entry: Entry
    slot: Instant
    fire_at: Instant
    kind: RunKind
    lane: str
    gap: Gap | None = None
    #: Dispatched before, and found without a run by the audit.
    is_resent: bool = False

    @property
    def run_id(self) -> str:
        if self.gap is not None:
            return gap_id_of(self.gap.first, self.gap.last)
        return self.entry.run_id if self.entry.run_id is not None else run_id_of(self.slot)

    @property
    def is_last(self) -> bool:
        """Its schedule has no slot behind it."""
        last = self.slot if self.gap is None else self.gap.last
        return self.entry.schedule is not None and is_last_slot(self.entry.schedule, last)

    @property
    def key(self) -> RunKey:
        return RunKey(self.entry.job_key, self.run_id)


def flight_of(due: Due) -> Flight:
    """A gap is another thing than the slot it begins with, which an earlier ownership of the shard may have sent."""
    return due.entry.entry_id, due.slot, due.gap


def fire_at_of(entry: Entry, slot: Instant) -> Instant:
    """When a slot fires. A single fire that no schedule made fires at its `next_at`, whatever slot it repeats."""
    return entry.next_at if entry.schedule is None else fire_at(entry.schedule, entry.job_key, slot)
