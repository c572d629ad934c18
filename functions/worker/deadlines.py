"""When runs that have started must have ended."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from functions.worker.live_run import LiveRun

#: Kept of runs that have ended: some for each live run, and a few more.
_PER_RUN = 4
_FEW = 64


@dataclass(slots=True)
class Deadlines:
    """Under its owner's lock. Moments are monotonic seconds."""

    #: Those that are here, of its owner.
    live: Mapping[LiveRun, None]
    _heap: list[tuple[float, int, LiveRun]] = field(default_factory=list)
    #: Breaks ties.
    _order: Iterator[int] = field(default_factory=count)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def first(self) -> float | None:
        """Perhaps of one that has ended."""
        return self._heap[0][0] if self._heap else None

    def add(self, live: LiveRun, at: float) -> None:
        heapq.heappush(self._heap, (at, next(self._order), live))
        if len(self._heap) > _PER_RUN * len(self.live) + _FEW:
            # Of thousands that ended long before their deadline, none is kept until then.
            self._heap = [each for each in self._heap if each[2] in self.live]
            heapq.heapify(self._heap)

    def take_expired(self, now: float) -> list[LiveRun]:
        """Those that have not ended at their deadline."""
        expired = []
        while self._heap and self._heap[0][0] <= now:
            live = heapq.heappop(self._heap)[2]
            if live in self.live and live.finish is None:
                expired.append(live)
        return expired

    def longest_left(self, now: float) -> float:
        """In seconds; 0 when none has started."""
        return max((at - now for at, _, live in self._heap if live in self.live and live.finish is None), default=0.0)
