"""What a worker did since it was last asked, as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType

from shared.domain.instants import Instant
from shared.domain.run import Run, RunKind, RunStatus
from shared.observability.metrics import Values
from shared.observability.samples import Sample

#: Of each part of drift, between two reports.
MOST_SAMPLES = 1_000
PARTS = MappingProxyType(
    {
        "drift": "total",
        "drift_dispatch": "dispatch",
        "drift_queue": "queue",
        "drift_claim": "claim",
        "drift_start": "start",
    }
)
#: What the executor counts, by the name of its metric.
COUNTED: Mapping[str, str] = MappingProxyType(
    {
        "claimed": "claimed",
        "started": "started",
        "succeeded": RunStatus.SUCCEEDED,
        "failed": RunStatus.FAILED,
        "timed_out": RunStatus.TIMED_OUT,
        "cancelled": RunStatus.CANCELLED,
        "fenced": "fenced",
        "duplicates": "duplicate",
        "delayed": "delayed",
        "set_aside": "set_aside",
        "skipped_paused": "paused",
        "skipped_superseded": "superseded",
        "skipped_overlap": "overlap",
    }
)


@dataclass(slots=True)
class Meter:
    """Told by any thread."""

    _samples: dict[str, Sample] = field(default_factory=lambda: {name: Sample(MOST_SAMPLES) for name in PARTS})
    _reported: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def started(self, run: Run, at: Instant) -> None:
        """A run began. Late by design, and no drift: what is caught up, asked for by hand, or tried again."""
        if run.kind is not RunKind.SCHEDULED or run.attempt != 1:
            return
        parts = run.drift_at(at)
        with self._lock:
            for name, sample in self._samples.items():
                sample.add(parts[PARTS[name]])

    def take(self, counts: Mapping[str, int]) -> Values:
        """Since the last call, of counts that only rise; what did not happen is left out."""
        with self._lock:
            rises = {name: counts.get(of, 0) - self._reported[name] for name, of in COUNTED.items()}
            self._reported.update(rises)
            drifts = {name: sample.take() for name, sample in self._samples.items()}
        return {
            **{name: rise for name, rise in rises.items() if rise},
            **{name: values for name, values in drifts.items() if values},
        }
