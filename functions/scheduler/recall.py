"""Which slots an entry must have fired by now: worked out from its schedule, not from what was fired."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.schedules import first_to_fire, last_to_fire, missed


@dataclass(frozen=True, slots=True)
class Recall:
    """A recurring entry in memory: each of its slots >= `since` and < `before` was handed to a queue, but for those in
    `unsettled`.
    """

    entry: Entry
    since: Instant
    before: Instant
    unsettled: frozenset[Instant] = frozenset()

    def slots_fired(self, after: Instant, until: Instant, *, most: int) -> list[Instant]:
        """Slots with after < fire_at <= until that must have a run; of many the newest `most`."""
        entry = self.entry
        if entry.schedule is None:
            return []
        # Arithmetic: of a job that fires each second the window alone may hold a day of slots.
        schedule, key = entry.schedule, entry.job_key
        first = first_to_fire(schedule, key, since=max(self.since, entry.from_at), floor=Instant(after + 1))
        last = last_to_fire(schedule, key, after=Instant(self.since - 1), until=until)
        if first is None or last is None:
            return []
        last = min(last, Instant(self.before - 1))
        fired = missed(schedule, Instant(first - 1), last, newest=most + len(self.unsettled))
        return [slot for slot in fired.newest if slot not in self.unsettled][-most:]
