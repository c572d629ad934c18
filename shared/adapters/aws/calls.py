"""Calls that are made again, with full jitter, until they are answered or patience ends.

Every call that goes through here may be repeated: repeating one that was carried out changes nothing, and its condition
then fails on a row that the store recognises as its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

from shared.adapters.aws.faults import CALL_FAILURES, ConditionFailed, TransactionRefused, Unreachable, fault
from shared.domain.errors import OutcomeUnknown, StoreContended, StoreError, StoreThrottled
from shared.ports.clock import Clock, Randomness

R = TypeVar("R")
T = TypeVar("T")

#: Sends a batch and answers what of it was not processed, each with the reason.
SendBatch: TypeAlias = Callable[[Sequence[T]], list[tuple[T, StoreError]]]


@dataclass(slots=True)
class RetryBudget:
    """What a whole process may spend on calls that are made again: each costs one, each answer earns some back.

    Alone, every call would be made ten times while a table is out, by every thread at once: a storm that keeps it out.
    With the budget spent a call fails at its first failure, and whoever asked tries again at its own, slower pace.
    Threads may lose an update between them, which costs nothing.
    """

    most: float = 100.0
    earned: float = 0.2
    _left: float = field(init=False)

    def __post_init__(self) -> None:
        self._left = self.most

    def spend(self) -> bool:
        """Whether there was enough left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def earn(self) -> None:
        self._left = min(self.most, self._left + self.earned)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is made at most, and the pauses between: uniform up to a bound that doubles."""

    attempts: int = 10
    #: Of these, calls without an answer: each may have cost a whole time-out.
    unanswered_attempts: int = 3
    base_seconds: float = 0.025
    cap_seconds: float = 1.0
    #: Shared by all who are given this patience.
    budget: RetryBudget | None = field(default=None, compare=False)

    def bounds(self) -> Iterator[float]:
        """The longest pause after each attempt but the last, in seconds."""
        for attempt in range(self.attempts - 1):
            yield min(self.cap_seconds, self.base_seconds * 2**attempt)


DEFAULT_PATIENCE = Patience()


class Calls:
    """How the adapters of one process call AWS: the pauses between attempts, and what faults mean."""

    def __init__(self, clock: Clock, randomness: Randomness, patience: Patience = DEFAULT_PATIENCE) -> None:
        self.clock = clock
        self._randomness = randomness
        self._patience = patience

    def repeat(self, operation: str, call: Callable[[], R]) -> R:
        """The answer of `call`.

        Raises:
            ConditionFailed, TransactionRefused: perhaps by an earlier attempt of this very call.
            StoreThrottled, StoreContended: every attempt was refused.
            OutcomeUnknown: some attempt was not answered, and no later one was either carried out or refused by its
                condition.
        """
        lost: OutcomeUnknown | None = None
        unanswered = 0
        bounds = self._patience.bounds()
        while True:
            try:
                answer = call()
            except CALL_FAILURES as error:
                failure = fault(operation, error)
                if isinstance(failure, (ConditionFailed, TransactionRefused)):
                    raise failure from error
                if isinstance(failure, OutcomeUnknown):
                    lost = failure
                unanswered += isinstance(failure, (OutcomeUnknown, Unreachable))
                bound = next(bounds, None) if self._may_repeat(failure, unanswered) else None
                if bound is None or not self._may_afford():
                    # A refusal says nothing about the attempt whose answer was lost.
                    raise lost or failure from error
            else:
                self._earn()
                return answer
            self.pause(bound)

    def _may_repeat(self, failure: StoreError, unanswered: int) -> bool:
        if isinstance(failure, (OutcomeUnknown, Unreachable)) and unanswered >= self._patience.unanswered_attempts:
            return False
        return isinstance(failure, (StoreThrottled, StoreContended, OutcomeUnknown, Unreachable))

    def _may_afford(self) -> bool:
        return self._patience.budget is None or self._patience.budget.spend()

    def _earn(self) -> None:
        if self._patience.budget is not None:
            self._patience.budget.earn()

    def once(self, operation: str, call: Callable[[], R]) -> R:
        """The answer of one attempt. Raises as `repeat` does."""
        try:
            return call()
        except CALL_FAILURES as error:
            raise fault(operation, error) from error

    def in_batches(self, operation: str, items: Sequence[T], size: int, send: SendBatch[T]) -> None:
        """Send all items by `size`, and again what `send` answers as not processed, with the reason.

        Patience starts anew whenever some were processed. Raises as `repeat` does when it ends; OutcomeUnknown
        when a part was processed, for then nobody can say that nothing was.
        """
        processed = 0
        for start in range(0, len(items), size):
            left: Sequence[T] = items[start : start + size]
            bounds = self._patience.bounds()
            while left:
                unprocessed = self._send(operation, left, send, processed)
                if len(unprocessed) < len(left):
                    bounds = self._patience.bounds()
                processed += len(left) - len(unprocessed)
                left = [item for item, _ in unprocessed]
                if not left:
                    break
                bound = next(bounds, None)
                if bound is None:
                    raise _part_of(operation, processed, unprocessed[0][1])
                self.pause(bound)

    def _send(
        self, operation: str, batch: Sequence[T], send: SendBatch[T], processed: int
    ) -> list[tuple[T, StoreError]]:
        try:
            return self.repeat(operation, partial(send, batch))
        except StoreError as failure:
            raise _part_of(operation, processed, failure) from failure

    def pause(self, bound_seconds: float) -> None:
        """Full jitter: anything up to the bound, so that those who collided part."""
        self.clock.sleep(bound_seconds * self._randomness.fraction())


def _part_of(operation: str, processed: int, failure: StoreError) -> StoreError:
    return OutcomeUnknown(operation, f"{processed} done, then: {failure.reason}") if processed else failure
