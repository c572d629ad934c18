"""Time and dice of tests and of the simulation: both move only when told, and repeat exactly."""

from __future__ import annotations

from random import Random

from shared.domain.instants import SECOND, Instant

#: 2026-11-27T00:00:00Z, a day without any change of zones.
START = Instant(1_795_737_600_000)


class ManualClock:
    """Stands still until `advance` or `sleep`; `step` moves the wall time alone, as NTP does."""

    def __init__(self, now: Instant = START) -> None:
        self._now = int(now)
        self._elapsed_ms = 0

    def now(self) -> Instant:
        return Instant(self._now)

    def monotonic(self) -> float:
        return self._elapsed_ms / SECOND

    def sleep(self, seconds: float) -> None:
        # Rounded up: a sleeper must not wake before its time.
        self.advance(-int(-seconds * SECOND // 1))

    def advance(self, duration_ms: int) -> Instant:
        """Let time pass, and answer what time it is then."""
        if duration_ms < 0:
            raise ValueError("time does not run backwards; `step` moves the wall clock")
        self._now += duration_ms
        self._elapsed_ms += duration_ms
        return self.now()

    def step(self, duration_ms: int) -> Instant:
        """Move the wall time forwards or back; monotonic time stays."""
        self._now += duration_ms
        return self.now()


class SeededRandomness:
    """The same dice for the same seed."""

    def __init__(self, seed: int | str = 0) -> None:
        self._random = Random(seed)  # noqa: S311 (repeatable on purpose)

    def fraction(self) -> float:
        return self._random.random()

    def random_bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)
