"""What a node is and did since it was last asked, as metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType

from functions.scheduler.counts import Counts
from functions.scheduler.node import Node
from shared.domain.instants import SECOND
from shared.observability.metrics import Values
from shared.ports import Clock

#: The time that DynamoDB tells has whole seconds.
NOTABLE_SKEW_MS = 2 * SECOND
#: What a node counts, by the name of its metric; what did not happen is left out.
COUNTED = MappingProxyType(
    {
        "dispatched": "accepted",
        "repeated": "repeated",
        "refused": "refused",
        "resent": "resent",
        "lost": "lost",
        "late": "late",
        "overlooked": "overlooked",
        "unaudited": "unaudited",
        "skipped_misfire": "skipped",
    }
)


@dataclass(slots=True)
class LoopLag:
    """The longest pause between two turns of a loop that wants to turn every `every_seconds`."""

    clock: Clock
    every_seconds: float
    _turned_at: float | None = None
    _longest: float = 0.0

    def turn(self) -> None:
        at = self.clock.monotonic()
        if self._turned_at is not None:
            self._longest = max(self._longest, at - self._turned_at)
        self._turned_at = at

    def take_ms(self) -> float:
        """Since the last call, beyond what the loop wants."""
        longest, self._longest = self._longest, 0.0
        return round(max(0.0, longest - self.every_seconds) * SECOND, 3)


@dataclass(slots=True)
class Gauges:
    node: Node
    lag: LoopLag
    _reported: Counts = field(default_factory=Counts)
    _beats: int = 0
    _failures: int = 0

    def take(self) -> Values:
        node = self.node
        now = node.ports.clock.now()
        # Read without the node's lock: a number that is one behind tells as much, and nothing waits for it.
        counts, beats = node.counts.copy(), node.owned.beats
        added, self._reported = counts.since(self._reported), counts
        beaten, self._beats = beats - self._beats, beats
        failures = node.owned.setbacks.count
        failed, self._failures = failures - self._failures, failures
        shards = list(node.shards.values())
        # Entries that could not be fired since it was last asked, and what it goes without now.
        aside = added.get("set_aside", 0) + sum(len(shard.unreadable) for shard in shards) + len(node.owned.setbacks)
        return {
            **{name: added[of] for name, of in COUNTED.items() if of in added},
            **node.ports.announcements.measured(),
            "beats": beaten,
            "shards_owned": len(shards),
            **({"shards_unowned": node.owned.unowned} if node.owned.unowned else {}),
            **({"set_aside": aside} if aside else {}),
            **({"step_failures": failed} if failed else {}),
            "wheel_size": sum(shard.resident_count for shard in shards),
            "progress_lag": node.owned.lag_ms(now),
            "loop_lag": self.lag.take_ms(),
            **({"clock_skew": abs(node.owned.skew_ms)} if abs(node.owned.skew_ms) >= NOTABLE_SKEW_MS else {}),
        }
