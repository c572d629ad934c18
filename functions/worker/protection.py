"""Whether the task of this process may be stopped: not while it holds a run, and for a moment after."""

from __future__ import annotations

from shared.domain.errors import StoreError
from shared.domain.instants import MINUTE, SECOND
from shared.domain.limits import MAX_TIMEOUT_MS
from shared.observability.logs import logger_for
from shared.ports import Clock
from shared.ports.task_protection import TaskProtection

_logger = logger_for("worker")

#: Longer than any run, so that one that began just now is covered; ECS takes two days at most.
PROTECTED_MS = MAX_TIMEOUT_MS + 60 * MINUTE
#: Of a worker that is always busy: renewed when so much is left, which a run that begins now still fits into.
_RENEWED_LEFT_MS = MAX_TIMEOUT_MS + 5 * MINUTE
#: Runs that follow each other are one stretch of work, not an edge each.
IDLE_MS = 30 * SECOND
_PAUSE_AFTER_FAULT_MS = 10 * SECOND


class Protection:
    """Asks at the edges of work only; `look` may be called as often as one likes, by one thread."""

    def __init__(self, task: TaskProtection, clock: Clock) -> None:
        self._task = task
        self._clock = clock
        self._protected_until: float | None = None
        self._busy_at = 0.0
        self._asks_at = 0.0

    def look(self, *, is_busy: bool) -> None:
        """Never raises StoreError: what could not be said is said again later, and a stop is graceful all the same."""
        now = self._clock.monotonic()
        if is_busy:
            self._busy_at = now
        if now < self._asks_at:
            return
        try:
            self._ask(now, is_busy=is_busy)
        except StoreError as error:
            self._asks_at = now + _PAUSE_AFTER_FAULT_MS / SECOND
            _logger.warning(
                "task protection is not as it should be",
                extra={"action": "worker.protection", "is_busy": is_busy, "error": str(error)},
            )

    def _ask(self, now: float, *, is_busy: bool) -> None:
        left_ms = 0.0 if self._protected_until is None else (self._protected_until - now) * SECOND
        if is_busy and left_ms < _RENEWED_LEFT_MS:
            self._task.protect(minutes=PROTECTED_MS // MINUTE)
            self._protected_until = now + PROTECTED_MS / SECOND
        elif not is_busy and self._protected_until is not None and now >= self._busy_at + IDLE_MS / SECOND:
            self._task.release()
            self._protected_until = None
