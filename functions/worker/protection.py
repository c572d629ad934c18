"""Whether the task of this process may be stopped, and whether it should end by itself.

A stop leaves `stop_ms` for what runs. Only a run that needs longer is worth protection, so a busy worker of short runs
may be stopped at any time. A task whose service starts another definition by now is superseded: it takes nothing more,
and ends when nothing longer runs, or when those who deploy have no more patience.
"""

from __future__ import annotations

from shared.domain.errors import StoreError
from shared.domain.instants import MINUTE, SECOND
from shared.observability.logs import logger_for
from shared.observability.troubles import Troubles
from shared.ports import Clock
from shared.ports.task_protection import TaskProtection

_logger = logger_for("worker")

#: CloudFormation gives a service three hours to become stable; with its last two minutes, this ends before.
PATIENCE_MS = 150 * MINUTE
#: ECS takes two days at most.
MOST_PROTECTED_MS = 2_880 * MINUTE
#: On top of what the longest run needs, so that the next one of its kind does not ask again.
_SPARE_MS = 30 * MINUTE
#: Runs that follow each other are one stretch of work, not an edge each.
IDLE_MS = 30 * SECOND
#: Between two looks at the service, and after one that failed.
LOOK_MS = MINUTE
_PAUSE_AFTER_FAULT_MS = 10 * SECOND
#: Looks in a row that say so before it counts.
_LOOKS_BELIEVED = 2


class Protection:
    """`look` may be called as often as one likes, by one thread."""

    def __init__(self, task: TaskProtection, clock: Clock, *, stop_ms: int) -> None:
        self._task = task
        self._clock = clock
        self._stop_ms = stop_ms
        #: All monotonic seconds.
        self._protected_until: float | None = None
        self._needed_at = 0.0
        self._asks_at = 0.0
        self._looks_at = 0.0
        self._superseded_at: float | None = None
        self._said_superseded = 0
        self._troubles = Troubles(_logger, {"action": "worker.protection"})

    @property
    def is_superseded(self) -> bool:
        """Nothing more is to be received."""
        return self._superseded_at is not None

    @property
    def superseded_ms(self) -> float:
        """For how long it has been; 0 when it is not."""
        return 0.0 if self._superseded_at is None else (self._clock.monotonic() - self._superseded_at) * SECOND

    def may_end(self, *, longest_ms: float) -> bool:
        """Superseded, and what runs can end within a stop, or has had its time."""
        if self._superseded_at is None:
            return False
        return longest_ms <= self._stop_ms or self._clock.monotonic() >= self._superseded_at + PATIENCE_MS / SECOND

    def look(self, *, longest_ms: float) -> None:
        """`longest_ms`: how long what runs may still take. Never raises StoreError: what could not be said or seen is
        tried again later, and a stop is graceful all the same.
        """
        now = self._clock.monotonic()
        if longest_ms > self._stop_ms:
            self._needed_at = now
        if now < self._asks_at:
            return
        try:
            self._look_at_service(now)
            self._ask(now, longest_ms)
        except StoreError as error:
            self._asks_at = now + _PAUSE_AFTER_FAULT_MS / SECOND
            self._troubles.failed(error, now=now)
        else:
            self._troubles.went_well(now=now)

    def _look_at_service(self, now: float) -> None:
        if now < self._looks_at or self.is_superseded:
            return
        self._looks_at = now + LOOK_MS / SECOND
        self._said_superseded = self._said_superseded + 1 if self._task.is_superseded() else 0
        if self._said_superseded >= _LOOKS_BELIEVED:
            self._superseded_at = now
            _logger.info("another definition takes the place of this task", extra={"action": "worker.superseded"})

    def _ask(self, now: float, longest_ms: float) -> None:
        left_ms = 0.0 if self._protected_until is None else (self._protected_until - now) * SECOND
        most_ms = self._most_ms(now)
        if longest_ms > self._stop_ms and most_ms >= MINUTE:
            if left_ms < min(longest_ms, most_ms - MINUTE) or left_ms > most_ms:
                self._protect(now, min(longest_ms + _SPARE_MS, most_ms))
        elif self._protected_until is not None and (
            most_ms < MINUTE or now >= self._needed_at + IDLE_MS / SECOND or self.is_superseded
        ):
            self._task.release()
            self._protected_until = None

    def _most_ms(self, now: float) -> float:
        if self._superseded_at is None:
            return MOST_PROTECTED_MS
        return (self._superseded_at - now) * SECOND + PATIENCE_MS

    def _protect(self, now: float, ms: float) -> None:
        minutes = max(int(ms // MINUTE), 1)
        self._task.protect(minutes=minutes)
        self._protected_until = now + minutes * MINUTE / SECOND
