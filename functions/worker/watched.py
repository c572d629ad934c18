"""Runs of other workers whose lease may run out: who saw one keeps its message, and looks again when it has.

Were the message shown again to whoever comes, each would have to trust its own wall clock that the lease is over. Who
has watched the row stand still for a whole lease needs none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from shared.domain.instants import SECOND
from shared.domain.message import Dispatch
from shared.domain.run import Run
from shared.ports import Delivery

#: Each is a message that is hidden from others meanwhile; more are left to them.
MOST_WATCHED = 1_000
#: Beyond a lease: a row may have been written a moment after it was seen.
SLACK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Claim:
    """What a delivery asks for: this run, as this worker would hold it."""

    delivery: Delivery
    dispatch: Dispatch
    run: Run


@dataclass(frozen=True, slots=True)
class Seen:
    claim: Claim
    #: The row, and when it was read (monotonic).
    row: Run
    at: float

    def watched_ms(self, monotonic: float) -> float:
        return (monotonic - self.at) * SECOND


@dataclass(slots=True)
class Watched:
    lease_seconds: float
    _seen: list[Seen] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, seen: Seen) -> bool:
        """Whether there is room."""
        with self._lock:
            if len(self._seen) >= MOST_WATCHED:
                return False
            self._seen.append(seen)
            return True

    def take(self, monotonic: float) -> list[Seen]:
        """Those that were watched for a lease."""
        until = monotonic - self.lease_seconds - SLACK_SECONDS
        with self._lock:
            due = [seen for seen in self._seen if seen.at <= until]
            self._seen = [seen for seen in self._seen if seen.at > until]
        return due
