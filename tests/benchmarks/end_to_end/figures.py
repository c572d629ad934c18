"""What a list of starts comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Start:
    """A job's body began. Instants are ms since 1970."""

    job: str
    due_ms: int
    started_ms: float

    @property
    def drift_ms(self) -> float:
        return self.started_ms - self.due_ms


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def spread_of(values: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and maximum."""
    if not values:
        return {}
    return {"p50": percentile(values, 0.5), "p99": percentile(values, 0.99), "max": max(values)}


def summary(starts: Iterable[Start], *, expected: int) -> dict[str, Any]:
    """Drift over each slot's first start, how long after the first due instant the last one began (`drain_s`), and
    what was lost, early, or began twice.
    """
    first: dict[tuple[str, int], Start] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for start in sorted(starts, key=lambda each: each.started_ms):
        first.setdefault((start.job, start.due_ms), start)
        counts[start.job, start.due_ms] += 1
    drifts = [start.drift_ms for start in first.values()]
    return {
        "expected": expected,
        "lost": expected - len(first),
        "duplicates": sum(count - 1 for count in counts.values()),
        "early": sum(drift < 0 for drift in drifts),
        "drift_ms": rounded(spread_of(drifts)),
        "drain_s": round(drain_seconds(first.values()), 2),
    }


def drain_seconds(starts: Iterable[Start]) -> float:
    """From the first due instant to the last start."""
    known = list(starts)
    if not known:
        return 0.0
    return (max(start.started_ms for start in known) - min(start.due_ms for start in known)) / 1000


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in values.items()}


#: A slot that starts later than this is late: no scheduler here is that slow when nothing is wrong.
LATE_MS = 500


def recovery(starts: Iterable[Start], *, killed_ms: float) -> dict[str, float | None]:
    """Seconds from a kill until the first late slot began, and until the last one did; None: no slot was late."""
    after = [start for start in starts if start.started_ms >= killed_ms and start.drift_ms > LATE_MS]
    moments = [start.started_ms for start in after]
    return {
        "first_late_s": round((min(moments) - killed_ms) / 1000, 1) if moments else None,
        "normal_s": round((max(moments) - killed_ms) / 1000, 1) if moments else None,
    }


def resumed_seconds(starts: Iterable[Start], *, killed_ms: float) -> float:
    """From a kill until the end of the longest time after it in which no job at all began; 0 when nothing began."""
    moments = [killed_ms, *sorted(start.started_ms for start in starts if start.started_ms > killed_ms)]
    gaps = [(after - before, after) for before, after in pairwise(moments)]
    return round((max(gaps)[1] - killed_ms) / 1000, 1) if gaps else 0.0


#: Of these the worst run counts, and not the median one.
FAULTS = ("lost", "duplicates", "early")


def medians_of(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of each figure over all runs, at any depth; of faults the most."""
    return {name: _median(name, [each[name] for each in found]) for name in found[0]}


def _median(name: str, values: Sequence[Any]) -> Any:
    if all(isinstance(value, Mapping) for value in values):
        return medians_of(values)
    return max(values) if name in FAULTS else median(values)
