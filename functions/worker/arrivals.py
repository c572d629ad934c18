"""Messages that are received while others are claimed are claimed together, by whoever is done first.

A claim is a call of the table, and so is the read of its jobs, for one run as for many. Where nobody waits each batch
is claimed as it comes; in a herd a few calls take what several receivers brought.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock

from shared.ports import Delivery

#: One call of the table takes as many rows.
MOST_TOGETHER = 25


class Arrivals:
    """`at_once`: so many claims go on beside each other."""

    def __init__(self, claim: Callable[[Sequence[Delivery]], object], *, at_once: int) -> None:
        self._claim = claim
        self._at_once = at_once
        self._lock = Lock()
        self._waiting: deque[Delivery] = deque()
        self._claiming = 0

    def come(self, deliveries: Sequence[Delivery]) -> None:
        """Claimed by this thread, or by another that claims already. Raises what a claim raises."""
        with self._lock:
            self._waiting.extend(deliveries)
        self.claim_waiting()

    def claim_waiting(self) -> None:
        """Those that somebody left behind, whose own claim failed."""
        while together := self._take():
            try:
                self._claim(together)
            finally:
                with self._lock:
                    self._claiming -= 1

    def take_all(self) -> list[Delivery]:
        """For whoever claims nothing any more."""
        with self._lock:
            left = list(self._waiting)
            self._waiting.clear()
            return left

    def _take(self) -> list[Delivery]:
        """None while enough others claim: the last of them takes what comes meanwhile."""
        with self._lock:
            if not self._waiting or self._claiming >= self._at_once:
                return []
            self._claiming += 1
            count = min(len(self._waiting), MOST_TOGETHER)
            return [self._waiting.popleft() for _ in range(count)]
