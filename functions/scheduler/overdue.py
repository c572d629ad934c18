"""Slots that were missed, before the misfire policy of their jobs decides over them.

After an outage there may be as many as there are entries, with a thousand slots each, and they are caught up slowly.
So of each entry only the stretch of its missed slots is kept. It is decided, and becomes dispatches and a row, when
there is room for them; what the entry fires from then on does not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple

from functions.scheduler.resident import Resident
from shared.domain.instants import Instant
from shared.schema import late_lane

#: Of what is not fired at all, and needs no lane.
NO_LANE = ""


class Stretch(NamedTuple):
    """Missed slots of an entry, from `first`, which was to fire at `due_at`, to `last`. Ordered by age."""

    due_at: Instant
    key: str
    first: Instant
    last: Instant
    resident: Resident

    @property
    def lane(self) -> str:
        """Where some of them will be sent."""
        return NO_LANE if self.resident.misfire.policy == "skip" else late_lane(self.resident.lane)


@dataclass(slots=True)
class Overdue:
    """By lane, the oldest first: a lane that is slow keeps no other waiting."""

    _heaps: dict[str, list[Stretch]] = field(default_factory=dict)
    #: Could not be decided, and is tried again from this instant on.
    _failed: list[tuple[Instant, Stretch]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self._heaps.values())) + len(self._failed)

    @property
    def lanes(self) -> list[str]:
        return [lane for lane, heap in self._heaps.items() if heap]

    @property
    def oldest(self) -> Instant | None:
        """When the oldest of the slots was to fire: no watermark passes it."""
        dues = [heap[0].due_at for heap in self._heaps.values() if heap]
        return min(dues + [stretch.due_at for _, stretch in self._failed], default=None)

    def put(self, stretch: Stretch) -> None:
        heappush(self._heaps.setdefault(stretch.lane, []), stretch)

    def take(self, lane: str) -> Stretch | None:
        heap = self._heaps[lane]
        return heappop(heap) if heap else None

    def put_off(self, stretch: Stretch, until: Instant) -> None:
        self._failed.append((until, stretch))

    def wake(self, now: Instant) -> None:
        """What was put off until now waits with the others again."""
        ready = [stretch for until, stretch in self._failed if until <= now]
        if ready:
            self._failed = [each for each in self._failed if each[0] > now]
            for stretch in ready:
                self.put(stretch)

    def entries_until(self, until: Instant) -> set[str]:
        """The entries of those that were to fire up to here."""
        waiting = [each for heap in self._heaps.values() for each in heap] + [each for _, each in self._failed]
        return {each.resident.entry_id for each in waiting if each.due_at <= until}
