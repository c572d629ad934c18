"""Entries that could not be fired: set aside, so that they keep no other from its turn, and met again after a while."""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.scheduler.resident import Resident, key_of
from shared.domain.entry import Entry
from shared.domain.instants import SECOND, Instant

#: What could not be fired is tried again after so long.
AGAIN_MS = 60 * SECOND


@dataclass(slots=True)
class Aside:
    #: By `key_of`: this generation is not met again before this instant.
    _until: dict[str, tuple[int, Instant]] = field(default_factory=dict)

    def put(self, resident: Resident, now: Instant) -> None:
        self._until[resident.key] = resident.generation, Instant(now + AGAIN_MS)

    def holds(self, entry: Entry, now: Instant) -> bool:
        generation, until = self._until.get(key_of(entry), (None, now))
        return generation == entry.generation and until > now

    def is_over(self, now: Instant) -> bool:
        """Some of them are to be read, and tried, again."""
        return any(until <= now for _, until in self._until.values())

    def loaded(self, started_at: Instant) -> None:
        """They were, by a load that began then."""
        self._until = {key: each for key, each in self._until.items() if each[1] > started_at}
