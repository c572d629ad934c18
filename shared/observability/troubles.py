"""Failures of a step that is made again and again: one line when they begin, one when they are over, with their count.

During an outage each of some threads fails each second; a line for each would bury what else is said.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from logging import Logger as PlainLogger
from threading import Lock
from typing import Any

from aws_lambda_powertools import Logger

#: Without a failure for so long, they are over: of two calls that alternate between well and ill, none says so.
QUIET_SECONDS = 30.0


@dataclass(slots=True)
class Troubles:
    """Told by any thread. `named` is what each line says besides: its `action` above all."""

    log: Logger | PlainLogger
    named: dict[str, Any]
    #: Since the start.
    count: int = 0
    _since: float | None = None
    _last: float = 0.0
    _kind: type[Exception] | None = None
    _count_at_begin: int = 0
    _lock: Lock = field(default_factory=Lock)

    def failed(self, error: Exception, *, now: float) -> None:
        """`now` is monotonic. Another kind of error is said as well: it may need somebody else."""
        with self._lock:
            if self._since is None:
                self._since, self._count_at_begin = now, self.count
            is_new = type(error) is not self._kind
            self._kind, self._last = type(error), now
            self.count += 1
        if is_new:
            self.log.error(
                "it fails, and is tried again; more of the same is counted",
                exc_info=error,
                extra={**self.named, "error": str(error)},
            )

    def went_well(self, *, now: float) -> None:
        with self._lock:
            if self._since is None or now - self._last < QUIET_SECONDS:
                return
            told = {"failures": self.count - self._count_at_begin, "seconds": round(self._last - self._since, 1)}
            self._since = self._kind = None
        self.log.info("it goes well again", extra={**self.named, **told})
