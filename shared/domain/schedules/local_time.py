"""Times of day on a zone's clock, by the same rule as cron: into the end of a gap, onto the first pass of a repeat."""

from __future__ import annotations

from shared.domain.instants import DAY, Instant
from shared.domain.schedules.daylight import MAX_GAP_MS
from shared.domain.schedules.spans import BLOCK_BITS, spans_of


def local_to_instant(zone_name: str, local: int) -> Instant | None:
    """The instant at which the zone's clock shows `local` (ms since 1970-01-01T00:00 local).

    None when the clock jumped over it by more than three hours: such a time never was, not even nearly.
    """
    for block in range((local - DAY) >> BLOCK_BITS, ((local + DAY) >> BLOCK_BITS) + 1):
        for span in spans_of(zone_name, block):
            if span.covered <= local < span.start + span.offset:
                return Instant(span.start) if span.gap_ms <= MAX_GAP_MS else None
            if max(span.covered, span.start + span.offset) <= local < span.end + span.offset:
                return Instant(local - span.offset)
    return None
