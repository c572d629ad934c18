"""Which shards this node takes: a pure decision over one reading of the fleet.

Dead and ownerless shards are taken at once, without limit: nobody fires them. Balance comes second and slowly, one
shard at a time from a live owner who holds more than its share, so that a node that joins never makes a pause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from shared.domain.fleet import FleetSnapshot, Lease


@dataclass(frozen=True, slots=True)
class Plan:
    """`orphans` are taken before they are loaded, `balance` is loaded before it is taken from its live owner."""

    orphans: tuple[Lease, ...] = ()
    balance: Lease | None = None


def plan(
    snapshot: FleetSnapshot, *, me: str, holding: Collection[int], dead: Collection[str], shard_count: int
) -> Plan:
    """What node `me`, which holds the shards `holding`, should take now.

    `dead` are the nodes it judges dead; a node without a row has left. A shard that is its own in the table but not in
    its memory (the answer of a take was lost) is an orphan too.
    """
    alive = {node_id for node_id in snapshot.nodes if node_id not in dead} | {me}
    leases = [snapshot.lease(shard) for shard in range(shard_count)]
    orphans = tuple(
        lease for lease in leases if lease.owner not in alive or (lease.owner == me and lease.shard not in holding)
    )
    held = Counter(lease.owner for lease in leases if lease.owner is not None and lease.owner in alive)
    if orphans or held[me] >= _share(me, alive, shard_count):
        return Plan(orphans)
    givers = [lease for lease in leases if _gives(lease, held, me, alive)]
    # From whoever has most; the lowest shard, so that two takers meet on one lease and one of them loses early.
    richest = max(givers, key=lambda lease: (held[lease.owner or ""], -lease.shard), default=None)
    return Plan(balance=richest)


def _share(node_id: str, alive: Collection[str], shard_count: int) -> int:
    """Equal parts; the first nodes by id carry one shard more when they do not divide."""
    rank = sorted(alive).index(node_id)
    each, rest = divmod(shard_count, len(alive))
    return each + (1 if rank < rest else 0)


def _gives(lease: Lease, held: Counter[str], me: str, alive: Collection[str]) -> bool:
    """The lease is of a live peer who holds more than its share."""
    if lease.owner is None or lease.owner == me:
        return False
    return held[lease.owner] > _share(lease.owner, alive, held.total())
