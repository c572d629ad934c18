"""Brings the entries of the owned shards from the table into memory: loads, and sweeps for what the API wrote since.

Both go on for a slice of time and leave the rest to their next turn, so that they keep no other step from its own. So a
sweep may find its shard while that is being loaded, and each read keeps its own account (`coverage.Reading`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from functions.scheduler.capacity import residency_at
from functions.scheduler.coverage import Reading
from functions.scheduler.ownership import Ownership, Parts
from functions.scheduler.shard import Shard
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.observability.logs import logger_for
from shared.ports import StoredEntry

_log = logger_for("scheduler")

#: Entries of one load that the garbage collector is told to leave alone from then on.
MANY = 1_000
#: Entries that are decoded, and then taken in under the lock, before the others have their turn.
AT_ONCE = 32

Pages = Iterator[Sequence[StoredEntry]]


@dataclass(slots=True)
class Reader:
    owned: Ownership
    #: What goes on, by the name of the step.
    _going_on: dict[str, Parts] = field(default_factory=dict)

    def load_once(self) -> bool:
        """Load shards that need it, for a slice of time; whether there is more to load. Raises StoreError: the rest
        comes next time, and first.
        """
        return self._go_on("load", self._loads)

    def sweep_once(self) -> bool:
        """Read what the API wrote since the last sweep, for a slice of time; whether there is more to read. Raises
        StoreError: a shard's next sweep looks back further.
        """
        return self._go_on("sweep", lambda: self.owned.by_turns("sweep", self._sweep))

    def look_ahead_once(self) -> bool:
        """Meet what fires soon early enough for the lead to grow with a herd: sweeps meet it when the lead is near.

        Each slice of time is read once; what is written into it later is met by a sweep. It says nothing about what was
        covered. Answers whether there is more to read. Raises StoreError: the same is read again next time.
        """
        if not self.owned.settings.herds.most_ms:
            return False
        return self._go_on("look_ahead", lambda: self.owned.by_turns("look_ahead", self._look_ahead))

    def _go_on(self, step: str, begin: Callable[[], Parts]) -> bool:
        monotonic = self.owned.ports.clock.monotonic
        until = monotonic() + self.owned.settings.slice_seconds
        work = self._going_on.pop(step, None) or begin()
        for _ in work:
            if monotonic() >= until:
                self._going_on[step] = work
                return True
        return False

    # Loads -----------------------------------------------------------------------------------------------------------

    def _loads(self) -> Parts:
        done: set[int] = set()
        while (shard := self._next_to_load(done)) is not None:
            done.add(shard.number)
            yield from self.owned.by_parts("load", shard, self._load)
        shard = self.owned.arriving
        if shard is not None:
            # It has an owner, who fires it until it is here.
            for _ in self._load(shard):
                yield
                if self.owned.arriving is not shard:
                    return
            self.owned.take_loaded(shard)

    def _next_to_load(self, done: Collection[int]) -> Shard | None:
        """One that was just taken goes first: nobody fires it."""
        now = self.owned.ports.clock.now()
        waiting = [each for each in self.owned.shards.values() if each.number not in done and each.needs_load(now)]
        return min(waiting, key=lambda shard: shard.coverage.loaded_at is not None, default=None)

    def _load(self, shard: Shard) -> Parts:
        before = shard.resident_count
        with self.owned.lock:
            self._adapt(shard)
            reading = shard.begin_read(self.owned.ports.clock.now())
        try:
            yield from self._read_all(shard, reading)
        finally:
            with self.owned.lock:
                shard.coverage.end_read(reading)
        if shard.resident_count - before >= MANY:
            # They stay, and have no cycles: looking through half a million would hold all threads up for a tenth of a
            # second each time.
            gc.freeze()
        _log.debug("loaded", extra={"action": "shard.load", "shard": shard.number, "entries": shard.resident_count})

    def _read_all(self, shard: Shard, reading: Reading) -> Parts:
        until = Instant(reading.started_at + min(self.owned.settings.timing.horizon_ms, shard.residency_ms))
        # In this order, or one that is parked meanwhile would be met in neither place.
        for read in (self.owned.ports.entries.announced, self.owned.ports.entries.parked):
            for page in read(shard.number, since=Instant(0), until=until):
                # What was set aside is looked at again.
                yield from self._absorb(shard, reading, page)
                if self._is_full:
                    # The rest stays in the table. Of the last instant there may be more on the next page.
                    until = Instant(page[-1].next_at - 1)
                    _log.warning("full", extra={"action": "shard.load", "shard": shard.number, "until": until})
                    break
        with self.owned.lock:
            shard.end_load(reading, until=until)

    @property
    def _is_full(self) -> bool:
        return self.owned.held_count >= self.owned.settings.most_residents

    # Sweeps ----------------------------------------------------------------------------------------------------------

    def _sweep(self, shard: Shard) -> Parts:
        if shard.coverage.swept_at is None:
            return
        timing = self.owned.settings.timing
        with self.owned.lock:
            reading = shard.begin_read(self.owned.ports.clock.now())
        since = Instant(min(shard.coverage.swept_at, reading.started_at) - timing.margin_ms)
        until = Instant(reading.started_at + timing.sweep_ahead_ms)
        try:
            for page in self._pages(shard, since, until):
                yield from self._absorb(shard, reading, self._unknown(shard, page))
            with self.owned.lock:
                shard.end_sweep(reading, since=since, until=until)
        finally:
            with self.owned.lock:
                shard.coverage.end_read(reading)

    def _look_ahead(self, shard: Shard) -> Parts:
        herds, now = self.owned.settings.herds, self.owned.ports.clock.now()
        until = Instant(now + herds.look_ahead_ms + herds.most_ms + self.owned.settings.timing.sweep_ahead_ms)
        since = Instant(max(shard.looked_until + 1, now))
        if shard.coverage.swept_at is None or until <= since:
            return
        with self.owned.lock:
            reading = shard.begin_read(now)
        try:
            for page in self._pages(shard, since, until):
                yield from self._absorb(shard, reading, self._unknown(shard, page))
                if self._is_full:
                    break
            shard.looked_until = until
        finally:
            with self.owned.lock:
                shard.coverage.end_read(reading)

    def _pages(self, shard: Shard, since: Instant, until: Instant) -> Pages:
        """Of the parked ones only what the last load did not reach: the API parks nothing, and what this node has
        parked since keeps that reach short.
        """
        entries = self.owned.ports.entries
        yield from entries.announced(shard.number, since=since, until=until)
        if shard.coverage.until < until:
            yield from entries.parked(shard.number, since=since, until=until)

    def _unknown(self, shard: Shard, page: Sequence[StoredEntry]) -> list[StoredEntry]:
        """What was set aside is left to loads."""
        return [each for each in page if each.entry_id not in shard.unreadable]

    # Taking in -------------------------------------------------------------------------------------------------------

    def _absorb(self, shard: Shard, reading: Reading, page: Sequence[StoredEntry]) -> Parts:
        """A few at a time: they are decoded without the lock, which is free again before the next few."""
        for first in range(0, len(page), AT_ONCE):
            met = page[first : first + AT_ONCE]
            with self.owned.lock:
                new = [each for each in met if not shard.knows(each.entry_id, reading)]
            read = [(each, self._read(each)) for each in new]
            now = self.owned.ports.clock.now()
            with self.owned.lock:
                self._adapt(shard)
                for stored, entry in read:
                    self._take_in(shard, reading, stored, entry, now)
            yield

    def _read(self, stored: StoredEntry) -> Entry | Exception:
        try:
            return stored.read()
        except Exception as error:  # noqa: BLE001 (it is set aside)
            return error

    def _take_in(
        self, shard: Shard, reading: Reading, stored: StoredEntry, entry: Entry | Exception, now: Instant
    ) -> None:
        error = entry if isinstance(entry, Exception) else self._absorbed(shard, reading, entry, now)
        if error is not None and shard.set_aside(stored, now):
            names = {"shard": shard.number, "entry_id": stored.entry_id, "error": repr(error)}
            _log.error("set aside", extra={"action": "entry.set_aside", **names})

    def _absorbed(self, shard: Shard, reading: Reading, entry: Entry, now: Instant) -> Exception | None:
        try:
            shard.absorb(entry, now, reading)
        except Exception as error:  # noqa: BLE001 (it is set aside)
            return error
        return None

    def _adapt(self, shard: Shard) -> None:
        """To how full the memory is."""
        held, most = self.owned.held_count, self.owned.settings.most_residents
        shard.residency_ms = residency_at(self.owned.settings.timing, held=held, most=most)
