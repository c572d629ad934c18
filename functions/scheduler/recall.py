"""Which slots an entry must have fired by now: worked out from its schedule, not from what was fired."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.schedules import fire_at, slots


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
        newest: deque[Instant] = deque(maxlen=most)
        # A slot fires at most `window_ms` later.
        start = max(self.since, entry.from_at, after - entry.schedule.window_ms)
        for slot in slots(entry.schedule, Instant(start - 1)):
            if slot >= self.before or slot > until:
                break
            due_at = fire_at(entry.schedule, entry.job_key, slot)
            if after < due_at <= until and slot not in self.unsettled:
                newest.append(slot)
        return list(newest)
