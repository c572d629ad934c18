"""What was asked of Carillon, what it answered, and what its webhooks delivered. Instants are integer ms since 1970."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any

Row = dict[str, Any]


@dataclass
class Window:
    """A time in which a schedule was in force: between what was asked and what was answered nobody can tell."""

    #: Between the slots, which stand at whole periods since 1970.
    period_ms: int
    asked_at: int
    answered_at: int
    #: Of the request that ended it; None while it is in force.
    end_asked_at: int | None = None
    end_answered_at: int | None = None

    def is_sure(self, slot: int, *, margin_ms: int) -> bool:
        """The slot was planned, whatever the clocks of two machines say within the margin."""
        end = self.end_asked_at
        return self.answered_at + margin_ms < slot and (end is None or slot < end - margin_ms)

    def is_possible(self, slot: int, *, margin_ms: int) -> bool:
        end = self.end_answered_at
        is_inside = self.asked_at - margin_ms <= slot and (end is None or slot <= end + margin_ms)
        return is_inside and slot % self.period_ms == 0


@dataclass(frozen=True)
class Deletion:
    asked_at: int
    answered_at: int
    outcome: str
    run_ids: tuple[str, ...]


@dataclass
class Life:
    """A job from its creation to its deletion; its id may live again."""

    job_id: str
    asked_at: int
    #: What its receiver does, as the path of its URL; empty for a handler.
    behaviour: str
    #: Every slot must run, however late.
    is_strict: bool
    #: At most one run at once.
    is_exclusive: bool
    #: As it was created; None: it fires once, `at`.
    period_ms: int | None = None
    at: int | None = None
    windows: list[Window] = field(default_factory=list)
    #: (asked, answered) of each pause and of the resume behind it, None while paused.
    pauses: list[tuple[int, int, int | None]] = field(default_factory=list)
    deletion: Deletion | None = None

    def is_possible(self, slot: int, *, margin_ms: int) -> bool:
        if self.at is not None:
            return slot == self.at
        return any(window.is_possible(slot, margin_ms=margin_ms) for window in self.windows)


@dataclass(frozen=True)
class Delivery:
    job_id: str
    run_id: str
    attempt: int
    token: int
    slot: int
    came_at: int
    #: When the receiver was done with it.
    left_at: int
    #: None: no whole answer was given.
    status: int | None


@dataclass
class Ledger:
    lives: list[Life] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    #: What was done to workers, and when: (from, to). Nobody can exclude two runs of one job across it.
    worker_troubles: list[tuple[int, int]] = field(default_factory=list)
    #: Of each process, resident bytes in the order of time.
    memory: dict[str, list[int]] = field(default_factory=dict)
    #: Answers that no client should see.
    surprises: list[str] = field(default_factory=list)
    #: How often each route answered with each status.
    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def deliver(self, delivery: Delivery) -> None:
        with self._lock:
            self.deliveries.append(delivery)


def to_ms(text: str) -> int:
    """Of an instant as the API writes it."""
    moment = datetime.fromisoformat(text)
    return round(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000)
