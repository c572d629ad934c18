"""Which nodes live, by what this process itself has seen: a beat that changes. No clock of another host is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, TypeAlias

from shared.domain.fleet import Node
from shared.domain.timing import Timing

NodeStatus: TypeAlias = Literal["alive", "silent", "unknown"]
#: As long as the nodes themselves take to call another one dead.
SILENT_SECONDS = Timing().dead_ms / 1000


@dataclass(frozen=True, slots=True)
class _Sighting:
    beat: int
    #: Monotonic.
    since: float
    has_changed: bool = False


@dataclass(slots=True)
class Sightings:
    _seen: dict[str, _Sighting] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def look(self, nodes: Mapping[str, Node], *, at: float) -> dict[str, NodeStatus]:
        """By node_id, from one reading of the fleet. At its first look a process cannot know."""
        with self._lock:
            self._seen = {node_id: self._sight(node, at) for node_id, node in nodes.items()}
            return {node_id: _judge(seen, at) for node_id, seen in self._seen.items()}

    def _sight(self, node: Node, at: float) -> _Sighting:
        seen = self._seen.get(node.node_id)
        if seen is None:
            return _Sighting(node.beat, at)
        return seen if seen.beat == node.beat else _Sighting(node.beat, at, has_changed=True)


def _judge(seen: _Sighting, at: float) -> NodeStatus:
    if at - seen.since >= SILENT_SECONDS:
        return "silent"
    return "alive" if seen.has_changed else "unknown"
