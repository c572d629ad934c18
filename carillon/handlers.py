"""Functions that run as targets of type `handler`, by name, in Carillon's worker.

A function receives its context and the job's payload. What it returns is stored as the run's output, the first 4 KB of
it; what it raises fails the run. It may run more than once for one slot: whatever it writes elsewhere should carry
`context.token`, of which the highest is the only valid one (`carillon.fencing` has the writes ready).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event
from typing import Any, TypeVar

from carillon.fencing import Fence, run_headers


def _unheard(_: str) -> None:
    """Progress that nobody listens to, as in a user's own test."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler may know of the run it serves. Datetimes are aware, in UTC."""

    job_id: str
    run_id: str
    #: The planned instant, which is the identity of this fire; `fire_at` is the slot with its jitter.
    slot: datetime
    fire_at: datetime
    #: 1 for the first try of this run.
    attempt: int
    #: The fencing token. It rises with every try of a run: a write that carries a lower one than was seen is stale.
    token: int
    #: The run ends as timed out at this moment, whatever the handler does.
    deadline: datetime
    #: Set as soon as `cancelled` is true, for a handler that has to wait: `context.cancellation.wait(timeout=5)`.
    cancellation: Event = field(default_factory=Event)
    report: Callable[[str], None] = _unheard
    #: Whose job it is. Every owner may name any handler: what one owner alone may do is for the handler to check.
    owner_id: str = ""

    @property
    def cancelled(self) -> bool:
        """True when the result does not count any more: at the deadline, on cancellation, or when another worker took
        over. A handler that runs for long looks at it between two steps, and returns when it is true.
        """
        return self.cancellation.is_set()

    @property
    def fence(self) -> Fence:
        """For writes to DynamoDB that only the newest try of this run may make."""
        return Fence(self.run_id, self.token)

    @property
    def headers(self) -> dict[str, str]:
        """For HTTP calls of the handler: the same as Carillon's own webhooks carry."""
        slot = self.slot.strftime("%Y-%m-%dT%H:%M:%S.") + f"{self.slot.microsecond // 1000:03d}Z"
        return run_headers(slot=slot, attempt=self.attempt, token=self.token)

    def progress(self, text: str) -> None:
        """Show `text`, the first kilobyte of it, as the run's progress: by the next heartbeat, within seconds."""
        self.report(text)


Handler = Callable[[Context, Any], Any]
_Function = TypeVar("_Function", bound=Handler)


class Registry:
    """Handlers by name."""

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def handler(self, name: str) -> Callable[[_Function], _Function]:
        """Register the decorated function as `name`, leaving it as it is. Raises ValueError when the name is taken."""

        def register(function: _Function) -> _Function:
            if name in self._handlers:
                raise ValueError(f"handler {name!r} is registered twice: by {self._handlers[name]!r} and {function!r}")
            self._handlers[name] = function
            return function

        return register

    def get(self, name: str) -> Handler | None:
        return self._handlers.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._handlers))


#: The registry of the process, which the worker reads after importing the modules it was told of.
registry = Registry()
handler = registry.handler
