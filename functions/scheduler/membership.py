"""Who is alive, and whether this node may trust itself. Monotonic time only; no wall clock is compared.

A peer is dead when its beat stayed unchanged for `dead_ms` *while this node was reading*: silence is counted across the
observer's own successful reads, and a long pause between two of them counts as one short one. After a table outage, or
a pause of the observer, nobody looks dead for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.fleet import Node


@dataclass(slots=True)
class _Sighting:
    beat: int
    silent_ms: float = 0.0


@dataclass(slots=True)
class Observer:
    """Judges the beats of all nodes it reads."""

    dead_ms: int
    #: The most that the time between two reads counts as silence.
    longest_step_ms: int
    _sightings: dict[str, _Sighting] = field(default_factory=dict)
    _read_at: float | None = None

    def observe(self, nodes: Mapping[str, Node], *, at: float) -> None:
        """Take in one successful read, made at monotonic time `at` (seconds)."""
        step_ms = 0.0 if self._read_at is None else min((at - self._read_at) * 1000, self.longest_step_ms)
        self._read_at = at
        self._sightings = {node_id: self._sight(node, step_ms) for node_id, node in nodes.items()}

    def _sight(self, node: Node, step_ms: float) -> _Sighting:
        seen = self._sightings.get(node.node_id)
        if seen is None or seen.beat != node.beat:
            return _Sighting(node.beat)
        return _Sighting(node.beat, seen.silent_ms + step_ms)

    def is_dead(self, node_id: str) -> bool:
        """A node without a row has left, which is as good as dead."""
        seen = self._sightings.get(node_id)
        return seen is None or seen.silent_ms >= self.dead_ms

    def silent_ms(self, node_id: str) -> float:
        seen = self._sightings.get(node_id)
        return 0.0 if seen is None else seen.silent_ms


@dataclass(slots=True)
class Trust:
    """A node's trust in its own leases.

    It lasts until `start of the last successful beat + trust_ms`, which is shorter than anyone takes to call the node
    dead. Once lapsed, a beat alone does not bring it back: others may have taken shards meanwhile, so the epochs are
    read first.
    """

    trust_ms: int
    _until: float = float("-inf")
    _needs_epochs: bool = True

    def beaten(self, *, started_at: float, answered_at: float) -> None:
        """A beat succeeded. `started_at` counts, for a slow answer must not extend the trust."""
        if answered_at >= self._until:
            self._needs_epochs = True
        self._until = max(self._until, started_at + self.trust_ms / 1000)

    def epochs_read(self, *, started_at: float) -> None:
        """The leases were read, by a read that began at `started_at`, and the lost ones dropped."""
        if started_at < self._until:
            self._needs_epochs = False

    def holds(self, at: float) -> bool:
        return at < self._until and not self._needs_epochs
