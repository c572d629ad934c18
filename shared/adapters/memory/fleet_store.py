from __future__ import annotations

from dataclasses import replace

from shared.adapters.memory.tables import MemoryTables
from shared.domain.fleet import Control, FleetSnapshot, Lease, Node
from shared.ports.fleet_store import BeatAnswer, LeaseAnswer


class MemoryFleetStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def beat(self, node: Node) -> BeatAnswer:
        with self._tables.lock:
            self._tables.nodes[node.node_id] = node
            clock = self._tables.clock
            return BeatAnswer(self._control(), None if clock is None else clock.now())

    def snapshot(self) -> FleetSnapshot:
        with self._tables.lock:
            return FleetSnapshot(dict(self._tables.nodes), dict(self._tables.leases), self._control())

    def lease(self, shard: int) -> LeaseAnswer:
        with self._tables.lock:
            clock = self._tables.clock
            return LeaseAnswer(self._lease(shard), None if clock is None else clock.now())

    def _control(self) -> Control:
        return Control(self._tables.is_firing, self._tables.shard_count)

    def _lease(self, shard: int) -> Lease:
        return self._tables.leases.get(shard, Lease(shard))

    def take(self, seen: Lease, *, owner: str) -> Lease | None:
        with self._tables.lock:
            stored = self._lease(seen.shard)
            if (stored.owner, stored.epoch) == (owner, seen.epoch + 1):
                return stored
            if (stored.owner, stored.epoch) != (seen.owner, seen.epoch):
                return None
            taken = replace(stored, owner=owner, epoch=seen.epoch + 1)
            self._tables.leases[seen.shard] = taken
            return taken

    def checkpoint(self, lease: Lease) -> bool:
        with self._tables.lock:
            stored = self._lease(lease.shard)
            if not _is_held_as(stored, lease):
                return False
            self._tables.leases[lease.shard] = replace(stored, watermark=max(stored.watermark, lease.watermark))
            return True

    def disown(self, lease: Lease) -> bool:
        with self._tables.lock:
            stored = self._lease(lease.shard)
            if not _is_held_as(stored, lease):
                return stored.epoch == lease.epoch and stored.owner is None
            self._tables.leases[lease.shard] = replace(stored, owner=None)
            return True

    def remove_node(self, node_id: str) -> None:
        with self._tables.lock:
            self._tables.nodes.pop(node_id, None)

    def pin_shard_count(self, shard_count: int) -> int:
        with self._tables.lock:
            if self._tables.shard_count is None:
                self._tables.shard_count = shard_count
            return self._tables.shard_count

    def set_firing(self, *, is_firing: bool) -> None:
        with self._tables.lock:
            self._tables.is_firing = is_firing


def _is_held_as(stored: Lease, lease: Lease) -> bool:
    return stored.owner is not None and (stored.owner, stored.epoch) == (lease.owner, lease.epoch)
