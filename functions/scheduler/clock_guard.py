"""Whether this host's wall clock agrees with the store's.

Each beat's answer tells the store's time; in between monotonic time says how it went on. So a clock that jumps is
noticed at once, and not at the next beat: what a tick would skip by a wrong clock is gone for good.
"""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.instants import SECOND, Instant


@dataclass(slots=True)
class ClockGuard:
    #: A clock that is further off is wrong.
    bound_ms: int
    _store_time: Instant | None = None
    _heard_at: float = 0.0
    #: How much older than its answer that time may be.
    _doubt_ms: int = 0

    def heard(self, store_time: Instant, *, asked_at: float, answered_at: float) -> None:
        """The store said its time in answer to a call; both others are monotonic."""
        self._store_time = store_time
        self._heard_at = answered_at
        self._doubt_ms = round((answered_at - asked_at) * SECOND)

    def skew_ms(self, now: Instant, at: float) -> int:
        """How far this clock, which shows `now` at monotonic time `at`, is ahead of the store's; 0 as long as the store
        told nothing.
        """
        return now - self.passed(now, at)

    def agrees(self, now: Instant, at: float) -> bool:
        return -self.bound_ms <= self.skew_ms(now, at) <= self.bound_ms + self._doubt_ms

    def passed(self, now: Instant, at: float) -> Instant:
        """By the store's clock it is at least this."""
        if self._store_time is None:
            return now
        return Instant(self._store_time + round((at - self._heard_at) * SECOND))
