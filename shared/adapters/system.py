"""The real clock and the real dice: the only place that reads the time, sleeps or rolls."""

from __future__ import annotations

import secrets
import time

from shared.domain.instants import Instant


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class SystemRandomness:
    _source = secrets.SystemRandom()

    def fraction(self) -> float:
        return self._source.random()

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)
