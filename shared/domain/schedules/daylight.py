"""Cron on a real local clock: where the calendar's local times fall in UTC.

The rule is Debian cron's. An expression whose minute or hour field starts with a star follows the clock: it fires at
every real matching minute, so twice in a repeated hour and never in a missing one. Any other names local times: a
repeated one fires on its first pass only; one that does not exist fires once, at the instant the gap ends (gaps up to
three hours), unless the job says `dst: skip`.

A day is excluded by the date the expression names, also where a gap moves its fire past midnight.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shared.domain.instants import DAY, HOUR, LAST_INSTANT, Instant
from shared.domain.schedules.matching import LocalCalendar
from shared.domain.schedules.spans import BLOCK_BITS, Span, pieces, spans_of

#: A longer jump of the local clock is a change of calendar (Samoa, 2011), not of daylight saving.
MAX_GAP_MS = 3 * HOUR
#: Blocks that may be searched in vain before an expression counts as never firing, such as one that follows the clock
#: and names only times that daylight saving always removes.
_MAX_EMPTY_BLOCKS = 64


@dataclass(frozen=True, slots=True)
class ZonedCron:
    """One expression in one zone."""

    calendar: LocalCalendar
    zone_name: str
    skips_gaps: bool

    def next_after(self, after: int, excluded: Collection[int] = ()) -> Instant | None:
        """The first slot later than `after`, or None when there is none up to the year 9999."""
        earliest = after + 1
        block = earliest >> BLOCK_BITS
        for _ in range(_MAX_EMPTY_BLOCKS):
            for span in spans_of(self.zone_name, block):
                if span.end > earliest:
                    found = self._first_in(span, earliest, excluded)
                    if found is not None:
                        return Instant(found) if found <= LAST_INSTANT else None
            earliest = (block + 1) << BLOCK_BITS
            # No zone is a day away from UTC, so nothing can be lost between here and there.
            local = self.calendar.next_local(earliest - DAY, excluded)
            if local is None or local - DAY > LAST_INSTANT:
                return None
            block = max(block + 1, (local - DAY) >> BLOCK_BITS)
            earliest = max(earliest, block << BLOCK_BITS)
        return None

    def count(self, after: int, until: int, excluded: Collection[int] = ()) -> int:
        """How many slots lie in (after, until], without visiting each."""
        start, end = after + 1, min(until, LAST_INSTANT) + 1
        return sum(self._count_in(span, low, high, excluded) for span, low, high in pieces(self.zone_name, start, end))

    def gap_time(self, span: Span, excluded: Collection[int] = ()) -> int | None:
        """The first local time named by the expression that the gap before `span` removed."""
        if span.gap_ms <= 0:
            return None
        local = self.calendar.next_local(span.covered, excluded)
        return local if local is not None and local < span.start + span.offset else None

    def fires_at_gap_end(self, span: Span, excluded: Collection[int] = ()) -> bool:
        """Whether the beginning of `span` is a slot because it ends a gap."""
        return self._replays_gaps() and span.gap_ms <= MAX_GAP_MS and self.gap_time(span, excluded) is not None

    def _replays_gaps(self) -> bool:
        return not (self.calendar.fields.follows_clock or self.skips_gaps)

    def _first_in(self, span: Span, earliest: int, excluded: Collection[int]) -> int | None:
        if span.start >= earliest and self.fires_at_gap_end(span, excluded):
            return span.start
        local = self.calendar.next_local(self._first_local(span, max(earliest, span.start)), excluded)
        return local - span.offset if local is not None and local < span.end + span.offset else None

    def _first_local(self, span: Span, instant: int) -> int:
        local = instant + span.offset
        return local if self.calendar.fields.follows_clock else max(local, span.covered)

    def _count_in(self, span: Span, start: int, end: int, excluded: Collection[int]) -> int:
        """Slots of the part [start, end) of a span."""
        first = self._first_local(span, start)
        total = self.calendar.count(first, end + span.offset, excluded)
        if start == span.start and self.fires_at_gap_end(span, excluded):
            local_start = span.start + span.offset
            # A local time right at the gap's end is the same slot.
            total += self.calendar.next_local(local_start, excluded) != local_start
        return total
