"""The local clock of a zone as spans of constant UTC offset.

Daylight saving is then plain arithmetic: where the local clock jumps forward between two spans there is a gap, where it
falls back the later span repeats local times that an earlier one has already shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from shared.domain.instants import DAY, EPOCH, SECOND
from shared.domain.schedules.zones import zone

#: Spans are worked out and kept a block at a time: 2**32 ms, about 50 days.
BLOCK_BITS = 32
#: No zone changes its offset twice within this time (the tests check all of tzdata), so probing this far apart
#: finds every change.
PROBE_STEP = 6 * DAY
#: A little inside what `datetime` can convert to any zone.
_FIRST_PROBE = -62_135_510_400_000
_LAST_PROBE = 253_402_128_000_000
_MILLISECOND = timedelta(milliseconds=1)


class Span(NamedTuple):
    """`start` to `end` (exclusive), UTC; local = UTC + `offset`. Local times before `covered` were shown already."""

    start: int
    end: int
    offset: int
    covered: int

    @property
    def gap_ms(self) -> int:
        """How far the local clock jumped forward when this span began; negative where it fell back."""
        return self.start + self.offset - self.covered


@lru_cache(maxsize=8192)
def spans_of(zone_name: str, block: int) -> tuple[Span, ...]:
    """The spans that touch one block, in order; the first may have begun before it, the last ends with it."""
    block_start, block_end = block << BLOCK_BITS, (block + 1) << BLOCK_BITS
    # One step early, so that local times shown just before the block count as covered in it.
    start = block_start - PROBE_STEP
    offset = _offset_at(zone_name, start)
    covered = start + offset
    spans = []
    for end in [*_changes(zone_name, start, block_end), block_end]:
        if end > block_start:
            spans.append(Span(start, end, offset, covered))
        covered = end + offset
        start, offset = end, _offset_at(zone_name, end)
    return tuple(spans)


def pieces(zone_name: str, start: int, end: int) -> Iterator[tuple[Span, int, int]]:
    """[start, end) cut at every change of offset, and at some instants where nothing changes."""
    for block in range(start >> BLOCK_BITS, ((end - 1) >> BLOCK_BITS) + 1):
        begin = max(start, block << BLOCK_BITS)
        for span in spans_of(zone_name, block):
            low, high = max(begin, span.start), min(end, span.end)
            if low < high:
                yield span, low, high


def offset_at(zone_name: str, instant: int) -> int:
    """Local minus UTC at that instant, in ms."""
    return next(span.offset for span in spans_of(zone_name, instant >> BLOCK_BITS) if instant < span.end)


def _changes(zone_name: str, start: int, end: int) -> list[int]:
    """Every instant in (start, end) at which the offset changes."""
    changes = []
    before = _offset_at(zone_name, start)
    for low in range(start, end, PROBE_STEP):
        high = min(low + PROBE_STEP, end - 1)
        after = _offset_at(zone_name, high)
        if after != before:
            changes.append(_change_between(zone_name, low, high, before))
            before = after
    return changes


def _change_between(zone_name: str, low: int, high: int, before: int) -> int:
    """The first whole second in (low, high] whose offset is not `before`."""
    low_s, high_s = low // SECOND, high // SECOND
    while high_s - low_s > 1:
        middle = (low_s + high_s) // 2
        if _offset_at(zone_name, middle * SECOND) == before:
            low_s = middle
        else:
            high_s = middle
    return high_s * SECOND


def _offset_at(zone_name: str, instant: int) -> int:
    moment = EPOCH + timedelta(milliseconds=min(max(instant, _FIRST_PROBE), _LAST_PROBE))
    offset = moment.astimezone(zone(zone_name)).utcoffset()
    assert offset is not None
    return offset // _MILLISECOND
