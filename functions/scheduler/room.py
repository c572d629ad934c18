"""What one tick may take from the wheels: slots in all, slots of each lane, rows. So neither the length of a tick nor
what waits behind it grows with what is late; what finds no room stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from functions.scheduler.due import Due

#: More than anything takes.
UNBOUNDED = 1 << 40


def _unbounded(_lane: str) -> int:
    return UNBOUNDED


@dataclass(slots=True)
class Room:
    slots: int
    rows: int = UNBOUNDED
    #: How many slots a lane still takes; those that this tick took are counted here.
    free_in: Callable[[str], int] = _unbounded
    _taken: Counter[str] = field(default_factory=Counter)

    def of(self, lane: str) -> int:
        return min(self.slots, self.free_in(lane) - self._taken[lane])

    def take(self, due: Due) -> None:
        self.slots -= 1
        if due.gap is None:
            self._taken[due.lane] += 1
        else:
            self.rows -= 1

    def work(self) -> None:
        """Something was looked at that takes no place yet."""
        self.slots -= 1
