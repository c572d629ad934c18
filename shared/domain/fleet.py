"""The fleet: the nodes, who owns which shard, and the brake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.domain.instants import Instant


@dataclass(frozen=True, slots=True)
class Node:
    """A scheduler process. Its id is fresh at every start; `beat` counts, for no clock of another host is read."""

    node_id: str
    beat: int
    version: str
    message_version: int
    started_at: Instant
    #: By shard, since when the oldest slot is due that it has not settled; without those where nothing is owed. None: a
    #: node of an earlier release, which does not say.
    owed_since: Mapping[int, Instant] | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to fire one shard.

    `epoch` rises at each change of owner; everything with fire_at <= watermark is settled.
    """

    shard: int
    owner: str | None = None
    epoch: int = 0
    watermark: Instant = Instant(0)


@dataclass(frozen=True, slots=True)
class Control:
    """What operators say to the whole fleet. With `is_firing` off nobody dispatches."""

    is_firing: bool = True
    shard_count: int | None = None


@dataclass(frozen=True, slots=True)
class FleetSnapshot:
    """One strongly consistent reading of table `fleet`. A shard nobody ever owned has no lease row yet."""

    nodes: dict[str, Node] = field(default_factory=dict)
    leases: dict[int, Lease] = field(default_factory=dict)
    control: Control = Control()

    def lease(self, shard: int) -> Lease:
        return self.leases.get(shard, Lease(shard))
