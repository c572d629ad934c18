"""Time and chance. Only `shared/adapters/system.py` and the fakes implement them."""

from __future__ import annotations

from typing import Protocol

from shared.domain.instants import Instant


class Clock(Protocol):
    """The host's time."""

    def now(self) -> Instant:
        """Wall time. It may step back, and differ from another host's by up to the clock bound."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, and never leaves the process."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return no earlier than after `seconds`."""
        ...


class Randomness(Protocol):
    """Dice. For ids, keys and jitter; never for a decision that must be repeatable."""

    def fraction(self) -> float:
        """Uniform, 0 <= fraction < 1."""
        ...

    def random_bytes(self, count: int) -> bytes:
        """From the system's cryptographic source."""
        ...
