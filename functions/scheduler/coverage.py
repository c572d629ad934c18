"""How much of a shard's table was read: the watermark may speak for no more than that.

An entry in the table that is not in memory is met again when it is read, so whatever fires by then must not have been
passed. What lies on its way to a later place is met at neither, so a read says nothing about that place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shared.domain.instants import SECOND, Instant

#: A shard is loaded again when what it has read ends this long before now, and no more often.
SHORT_OF_MS = 10 * SECOND
#: Later than any instant.
NEVER = Instant(1 << 62)


@dataclass(slots=True)
class Coverage:
    #: Start of the last complete load and sweep.
    loaded_at: Instant | None = None
    swept_at: Instant | None = None
    #: All entries with next_at up to here were read, and none of them went back to the table since.
    until: Instant = Instant(0)
    #: The read that goes on cannot say anything about what lies behind this.
    _blind_from: Instant = NEVER

    def needs_load(self, now: Instant, *, every_ms: int) -> bool:
        """Never loaded, not for a while, or cut short so that sweeps alone do not reach what is due."""
        if self.loaded_at is None or now >= self.loaded_at + every_ms:
            return True
        return self.until < now - SHORT_OF_MS and now >= self.loaded_at + SHORT_OF_MS

    def begin_read(self, on_their_way: Iterable[Instant]) -> None:
        """A read begins while entries are on their way to these instants."""
        self._blind_from = min(on_their_way, default=NEVER)

    def loaded(self, *, started_at: Instant, until: Instant) -> None:
        """Everything with next_at <= until was read."""
        self.loaded_at = started_at
        self._extend(until)
        if self.swept_at is None:
            self.swept_at = started_at

    def swept(self, *, started_at: Instant, since: Instant, until: Instant) -> None:
        """Everything with since <= next_at <= until was read."""
        self.swept_at = started_at
        if since <= self.until:
            self._extend(until)

    def _extend(self, until: Instant) -> None:
        self.until = max(self.until, Instant(min(until, self._blind_from - 1)))

    def without(self, instant: Instant) -> None:
        """An entry that is not in memory fires then: it must be read before the watermark may pass."""
        self._blind_from = min(self._blind_from, instant)
        self.until = min(self.until, Instant(instant - 1))
