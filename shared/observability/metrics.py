"""Metrics as log lines in CloudWatch's embedded metric format (EMF): no call, no agent, no thread.

Whoever writes a line to its log has written the metrics in it. A metric costs money for each hour in which it was
written and for each set of dimensions, so there are few dimensions, and what is usually 0 is written when it is not.
A writer of its own, and not Powertools': that one reads the clock itself and keeps one state for all threads.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from shared.domain.instants import Instant

Values = Mapping[str, float | Sequence[float]]

#: Every metric there is, and its unit.
UNITS: Mapping[str, str] = MappingProxyType(
    {
        # Of a run that a schedule made, on its first attempt: started_at - fire_at, and its parts.
        "drift": "Milliseconds",
        "drift_dispatch": "Milliseconds",
        "drift_queue": "Milliseconds",
        "drift_claim": "Milliseconds",
        "drift_start": "Milliseconds",
        # Of slots, by the nodes.
        "dispatched": "Count",
        "repeated": "Count",
        "refused": "Count",
        "resent": "Count",
        "lost": "Count",
        "late": "Count",
        "overlooked": "Count",
        "unaudited": "Count",
        "skipped_misfire": "Count",
        # Of runs, by the workers.
        "claimed": "Count",
        "started": "Count",
        "succeeded": "Count",
        "failed": "Count",
        "timed_out": "Count",
        "cancelled": "Count",
        "fenced": "Count",
        "duplicates": "Count",
        "delayed": "Count",
        # What a worker could not claim, renew, read or end, alone of its batch.
        "set_aside": "Count",
        # Steps of a worker that failed as a whole, such as a receive while SQS is out; or of a node with one shard.
        "step_failures": "Count",
        "skipped_paused": "Count",
        "skipped_superseded": "Count",
        "skipped_overlap": "Count",
        "in_flight": "Count",
        # Since another definition took the place of a task that still runs.
        "superseded": "Milliseconds",
        # Of lifecycle events, by whoever could not put them on the bus.
        "events_lost": "Count",
        # Of requests, by the API: with a key that is unknown, revoked or expired.
        "refused_keys": "Count",
        # Of a node.
        "beats": "Count",
        "shards_owned": "Count",
        "shards_unowned": "Count",
        "wheel_size": "Count",
        "loop_lag": "Milliseconds",
        "progress_lag": "Milliseconds",
        "clock_skew": "Milliseconds",
    }
)
#: CloudWatch takes so many values of one metric in a line.
VALUES_IN_A_LINE = 100


def _to_stdout(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class MetricLog:
    """`dimensions` tell the writers apart by what they are; `properties` say which one it is, to readers of the log."""

    namespace: str
    dimensions: Mapping[str, str]
    properties: Mapping[str, str] = field(default_factory=dict)
    write: Callable[[str], None] = _to_stdout

    def put(self, values: Values, *, at: Instant) -> None:
        """Raises KeyError for a name that `UNITS` does not have."""
        for part in _parts(values):
            self.write(emf(self.namespace, self.dimensions, part, at=at, properties=self.properties))


def emf(
    namespace: str, dimensions: Mapping[str, str], values: Values, *, at: Instant, properties: Mapping[str, str]
) -> str:
    """One line. Raises KeyError for a name that `UNITS` does not have."""
    directive = {
        "Namespace": namespace,
        "Dimensions": [list(dimensions)],
        "Metrics": [{"Name": name, "Unit": UNITS[name]} for name in values],
    }
    told = {"action": "metrics", **properties, **dimensions, **values}
    line = {"_aws": {"Timestamp": at, "CloudWatchMetrics": [directive]}, **told}
    return json.dumps(line, separators=(",", ":"))


def _parts(values: Values) -> Iterator[dict[str, float | Sequence[float]]]:
    """What fits a line each: plain numbers go with the first hundred of each list."""
    rest = {name: value for name, value in values.items() if not isinstance(value, Sequence) or value}
    while rest:
        yield {name: value[:VALUES_IN_A_LINE] if isinstance(value, Sequence) else value for name, value in rest.items()}
        rest = {
            name: value[VALUES_IN_A_LINE:]
            for name, value in rest.items()
            if isinstance(value, Sequence) and len(value) > VALUES_IN_A_LINE
        }
