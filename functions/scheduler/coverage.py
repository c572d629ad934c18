"""How much of a shard's table was read: the watermark may speak for no more than that.

An entry in the table that is not in memory is met again when it is read, so whatever fires by then must not have been
passed. What lies on its way to a later place is met at neither, so a read says nothing about that place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shared.domain.instants import SECOND, Instant

#: A shard is loaded again when what it has read ends this long before now, and no more often.
SHORT_OF_MS = 10 * SECOND
#: Later than any instant.
NEVER = Instant(1 << 62)


@dataclass(slots=True, eq=False)
class Reading:
    """A load or sweep of the table that goes on; several may at once."""

    started_at: Instant
    #: It cannot say anything about what lies behind this.
    blind_from: Instant
    #: Ids of entries that left memory, whose rows it may still have as they were before.
    gone: set[str]


@dataclass(slots=True)
class Coverage:
    #: Start of the last complete load and sweep.
    loaded_at: Instant | None = None
    swept_at: Instant | None = None
    #: All entries with next_at up to here were read, and none of them went back to the table since.
    until: Instant = Instant(0)
    _readings: list[Reading] = field(default_factory=list)

    def needs_load(self, now: Instant, *, every_ms: int) -> bool:
        """Never loaded, not for a while, or cut short so that sweeps alone do not reach what is due."""
        if self.loaded_at is None or now >= self.loaded_at + every_ms:
            return True
        return self.until < now - SHORT_OF_MS and now >= self.loaded_at + SHORT_OF_MS

    def begin_read(self, started_at: Instant, to_delete: Iterable[str], to_move: Mapping[str, Instant]) -> Reading:
        """A read begins while the rows of these entries are not deleted yet, nor moved to these instants."""
        reading = Reading(started_at, min(to_move.values(), default=NEVER), {*to_delete, *to_move})
        self._readings.append(reading)
        return reading

    def end_read(self, reading: Reading) -> None:
        """It is over, or was broken off: then it has said nothing."""
        self._readings = [each for each in self._readings if each is not reading]

    def loaded(self, reading: Reading, *, until: Instant) -> None:
        """Everything with next_at <= until was read."""
        self.loaded_at = reading.started_at
        self._extend(reading, until)
        if self.swept_at is None:
            self.swept_at = reading.started_at
        self.end_read(reading)

    def swept(self, reading: Reading, *, since: Instant, until: Instant) -> None:
        """Everything with since <= next_at <= until was read."""
        self.swept_at = reading.started_at
        if since <= self.until:
            self._extend(reading, until)
        self.end_read(reading)

    def _extend(self, reading: Reading, until: Instant) -> None:
        self.until = max(self.until, Instant(min(until, reading.blind_from - 1)))

    def left(self, entry_id: str) -> None:
        """The entry left memory: what goes on may read it as it was."""
        for reading in self._readings:
            reading.gone.add(entry_id)

    def without(self, instant: Instant) -> None:
        """An entry that is not in memory fires then: it must be read before the watermark may pass."""
        for reading in self._readings:
            reading.blind_from = min(reading.blind_from, instant)
        self.until = min(self.until, Instant(instant - 1))
