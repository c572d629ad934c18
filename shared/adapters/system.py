"""The real clock and the real dice: the only place that reads the time, sleeps or rolls."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path

from shared.config import CLOCK_ERROR_VARIABLE
from shared.domain.instants import Instant


class SystemClock:
    def now(self) -> Instant:
        return Instant(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class WrongClock(SystemClock):
    """For tests of a whole stack: wrong by as many milliseconds as the file says, while there is one."""

    def __init__(self, error_file: Path) -> None:
        self._error_file = error_file

    def now(self) -> Instant:
        try:
            error_ms = int(self._error_file.read_text(encoding="ascii"))
        except FileNotFoundError:
            error_ms = 0
        return Instant(super().now() + error_ms)


def system_clock(environment: Mapping[str, str]) -> SystemClock:
    error_file = environment.get(CLOCK_ERROR_VARIABLE)
    return WrongClock(Path(error_file)) if error_file else SystemClock()


class SystemRandomness:
    _source = secrets.SystemRandom()

    def fraction(self) -> float:
        return self._source.random()

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)
