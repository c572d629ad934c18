"""What a worker has seen since its start, counted by any thread."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from functions.worker.meter import Meter
from shared.domain.instants import Instant
from shared.domain.run import Run
from shared.observability.metrics import Values


class Tally:
    def __init__(self) -> None:
        #: By name; for tests and logs.
        self.counts: Counter[str] = Counter()
        self._lock = Lock()
        self._meter = Meter()

    def count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self.counts[what] += by

    def started(self, run: Run, at: Instant) -> None:
        self.count("started")
        self._meter.started(run, at)

    def measured(self) -> Values:
        """Metrics of what happened since the last call."""
        with self._lock:
            counts = dict(self.counts)
        return self._meter.take(counts)
