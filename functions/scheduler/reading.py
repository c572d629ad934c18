"""Brings the entries of the owned shards from the table into memory: loads, and sweeps for what the API wrote since."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass

from functions.scheduler.capacity import residency_at
from functions.scheduler.ownership import Ownership
from functions.scheduler.shard import Shard
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.observability.logs import logger_for

_log = logger_for("scheduler")

#: Entries of one load that the garbage collector is told to leave alone from then on.
MANY = 1_000


@dataclass(slots=True)
class Reader:
    owned: Ownership

    def load_once(self) -> None:
        """Load each shard that needs it. Raises StoreError: the rest comes next time, and first."""
        self.owned.in_turn(self._load_if_needed)

    def _load_if_needed(self, shard: Shard) -> None:
        if shard.needs_load(self.owned.ports.clock.now()):
            self.load(shard)

    def load(self, shard: Shard) -> None:
        started_at, before = self.owned.ports.clock.now(), shard.resident_count
        with self.owned.lock:
            self._adapt(shard)
            shard.begin_read()
        until = Instant(started_at + min(self.owned.settings.timing.horizon_ms, shard.residency_ms))
        # In this order, or one that is parked meanwhile would be met in neither place.
        for read in (self.owned.ports.entries.announced, self.owned.ports.entries.parked):
            for page in read(shard.number, since=Instant(0), until=until):
                self._absorb(shard, page)
                if self.owned.held_count >= self.owned.settings.most_residents:
                    # The rest stays in the table. Of the last instant there may be more on the next page.
                    until = Instant(page[-1].next_at - 1)
                    _log.warning("full", extra={"action": "shard.load", "shard": shard.number, "until": until})
                    break
        with self.owned.lock:
            shard.end_load(started_at=started_at, until=until)
        if shard.resident_count - before >= MANY:
            # They stay, and have no cycles: looking through half a million would hold all threads up for a tenth of a
            # second each time.
            gc.freeze()
        _log.debug("loaded", extra={"action": "shard.load", "shard": shard.number, "entries": shard.resident_count})

    def sweep_once(self) -> None:
        """Read what the API wrote since the last sweep. Raises StoreError: a shard's next sweep looks back further."""
        self.owned.in_turn(self._sweep)

    def _sweep(self, shard: Shard) -> None:
        if shard.coverage.swept_at is None:
            return
        timing, started_at = self.owned.settings.timing, self.owned.ports.clock.now()
        with self.owned.lock:
            shard.begin_read()
        since = Instant(min(shard.coverage.swept_at, started_at) - timing.margin_ms)
        until = Instant(started_at + timing.sweep_ahead_ms)
        for page in self._pages(shard, since, until):
            self._absorb(shard, page)
        with self.owned.lock:
            shard.end_sweep(started_at=started_at, since=since, until=until)

    def look_ahead_once(self) -> None:
        """Meet what fires soon early enough for the lead to grow with a herd: sweeps meet it when the lead is near.

        Each slice of time is read once; what is written into it later is met by a sweep. It says nothing about what was
        covered. Raises StoreError: the slice is read again next time.
        """
        if self.owned.settings.herds.most_ms:
            self.owned.in_turn(self._look_ahead)

    def _look_ahead(self, shard: Shard) -> None:
        herds, now = self.owned.settings.herds, self.owned.ports.clock.now()
        until = Instant(now + herds.look_ahead_ms + herds.most_ms + self.owned.settings.timing.sweep_ahead_ms)
        since = Instant(max(shard.looked_until + 1, now))
        if shard.coverage.swept_at is None or until <= since:
            return
        for page in self._pages(shard, since, until):
            self._absorb(shard, page)
            if self.owned.held_count >= self.owned.settings.most_residents:
                break
        shard.looked_until = until

    def _pages(self, shard: Shard, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        """Of the parked ones only what the last load did not reach: the API parks nothing, and what this node has
        parked since keeps that reach short.
        """
        entries = self.owned.ports.entries
        yield from entries.announced(shard.number, since=since, until=until)
        if shard.coverage.until < until:
            yield from entries.parked(shard.number, since=since, until=until)

    def _absorb(self, shard: Shard, page: list[Entry]) -> None:
        now = self.owned.ports.clock.now()
        with self.owned.lock:
            self._adapt(shard)
            for entry in page:
                shard.absorb(entry, now)

    def _adapt(self, shard: Shard) -> None:
        """To how full the memory is."""
        held, most = self.owned.held_count, self.owned.settings.most_residents
        shard.residency_ms = residency_at(self.owned.settings.timing, held=held, most=most)
