"""When a request is sent again, and after how long: pure, with the dice as an argument.

A repeat must not have an effect twice. GET, PUT and DELETE have none, and POST and PATCH carry an Idempotency-Key. What
would not know its own first success (`Repeat.UNSENT`) is sent again only if it certainly had no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Final

from carillon.client.errors import NoAnswer, OutcomeUnknown, Problem, TooManyRequests, Unavailable


class Repeat(Enum):
    ALWAYS = auto()
    UNSENT = auto()


@dataclass(frozen=True, slots=True)
class Patience:
    """`attempts` counts the first one too. Pauses are random (full jitter) below a bound that doubles up to the cap."""

    attempts: int = 5
    first_bound_seconds: float = 0.2
    cap_seconds: float = 10.0
    #: Who asks for a longer pause is not waited for.
    longest_retry_after_seconds: float = 60.0

    def pause_after(
        self, failure: NoAnswer | Problem, *, attempts_made: int, repeat: Repeat, roll: float
    ) -> float | None:
        """Seconds until the next attempt, or None to give up. `roll` is in [0, 1)."""
        if attempts_made >= self.attempts or not _may_repeat(failure, repeat):
            return None
        asked = (failure.retry_after_seconds or 0.0) if isinstance(failure, Problem) else 0.0
        if asked > self.longest_retry_after_seconds:
            return None
        return asked + roll * self.bound_after(attempts_made)

    def bound_after(self, attempts_made: int) -> float:
        return min(self.cap_seconds, self.first_bound_seconds * 2.0 ** (attempts_made - 1))


DEFAULT_PATIENCE: Final = Patience()


def _may_repeat(failure: NoAnswer | Problem, repeat: Repeat) -> bool:
    if isinstance(failure, NoAnswer):
        return repeat is Repeat.ALWAYS or not failure.may_have_happened
    if isinstance(failure, OutcomeUnknown):
        return repeat is Repeat.ALWAYS
    return isinstance(failure, TooManyRequests | Unavailable)


def is_worth_repeating(status: int) -> bool:
    """Of one item of many."""
    return status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
