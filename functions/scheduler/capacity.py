"""How far ahead a node keeps entries in memory, so that its memory is bounded whatever lies in the table: an entry that
weighs more than a plain one counts for as many as it weighs (`weights.py`).

While there is room an entry whose next slot is within 6 h stays, which saves a write per fire. From half of the cap on
the residency shrinks, down to three minutes at the cap: what fires later goes back to the table and is read again when
it is near, so the node finds its balance between memory and writes. At the cap loads stop where they are. What comes
due within the two seconds that a sweep looks ahead is taken in even then: nothing waits in the table past its time.
"""

from __future__ import annotations

import math

from shared.domain.timing import Timing


def residency_at(timing: Timing, *, held: int, most: int) -> int:
    """The residency in ms of a node that holds `held` of at most `most` entries: it shrinks by equal ratios."""
    pressure = min(max(2 * held / most - 1, 0.0), 1.0)
    ratio = timing.shortest_residency_ms / timing.residency_ms
    return round(timing.residency_ms * math.pow(ratio, pressure))
