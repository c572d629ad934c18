"""Events that are to be published: gathered by any thread after the write they report, and put on the bus in batches by
a thread that nobody waits for; of a function, at the end of its call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from threading import Lock

from shared.domain.errors import StoreError
from shared.domain.events import Event
from shared.observability.logs import logger_for
from shared.observability.metrics import Values
from shared.ports.event_bus import EventBus

_logger = logger_for("events")

#: Of a bus that is away: what comes then is lost, and counted.
MOST_KEPT = 10_000
_ROUND = 100


class Announcements:
    """Without a bus nothing is kept."""

    def __init__(self, bus: EventBus | None) -> None:
        self._bus = bus
        self._kept: deque[Event] = deque()
        self._lock = Lock()
        self.lost = 0
        self._lost_told = 0

    def add(self, events: Iterable[Event]) -> None:
        if self._bus is None:
            return
        with self._lock:
            for event in events:
                if len(self._kept) < MOST_KEPT:
                    self._kept.append(event)
                else:
                    self.lost += 1

    def publish_once(self) -> int:
        """Put what was gathered; answers how many were tried. What the bus did not take is lost, and counted."""
        tried = 0
        while self._bus is not None and (events := self._take()):
            tried += len(events)
            try:
                self._bus.publish(events)
            except StoreError as error:
                with self._lock:
                    self.lost += len(events)
                _logger.warning(
                    "events were not published, some perhaps",
                    extra={"action": "event.publish", "count": len(events), "error": str(error)},
                )
                break
        return tried

    def measured(self) -> Values:
        """Metrics of what was lost since the last call."""
        with self._lock:
            lost, self._lost_told = self.lost - self._lost_told, self.lost
        return {"events_lost": lost} if lost else {}

    def _take(self) -> list[Event]:
        with self._lock:
            return [self._kept.popleft() for _ in range(min(_ROUND, len(self._kept)))]
