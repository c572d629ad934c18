from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from shared.domain.fleet import Control, FleetSnapshot, Lease, Node
from shared.domain.instants import Instant


@dataclass(frozen=True, slots=True)
class BeatAnswer:
    """`store_time` is the store's wall clock as its answer told it, for the clock guard; None when it told none."""

    control: Control
    store_time: Instant | None = None


@dataclass(frozen=True, slots=True)
class LeaseAnswer:
    """`store_time` as in `BeatAnswer`."""

    lease: Lease
    store_time: Instant | None = None


class FleetStore(Protocol):
    """Table `fleet`: membership, leases with their epoch and watermark, and the brake."""

    def beat(self, node: Node) -> BeatAnswer:
        """Put the node's row, then read `control` strongly consistently."""
        ...

    def snapshot(self) -> FleetSnapshot:
        """Everything, each kind read strongly consistently."""
        ...

    def lease(self, shard: int) -> LeaseAnswer:
        """The lease of one shard, read strongly consistently; that of nobody when none is stored."""
        ...

    def take(self, seen: Lease, *, owner: str) -> Lease | None:
        """Make `owner` the owner with epoch + 1 and the watermark as stored, where owner and epoch are still as seen.

        None when the race is lost. A repeat after a lost answer still wins: the lease that is there is one's own, which
        holds because node ids are fresh at every start.
        """
        ...

    def checkpoint(self, lease: Lease) -> bool:
        """Raise the watermark to `lease.watermark` where owner and epoch are those of `lease`; False when they are not.

        Never lowers it: a lower one is answered True and changes nothing.
        """
        ...

    def disown(self, lease: Lease) -> bool:
        """Leave the shard without an owner where owner and epoch are those of `lease`; epoch and watermark stay."""
        ...

    def remove_node(self, node_id: str) -> None:
        """Delete the node's row; no failure when it is gone."""
        ...

    def pin_shard_count(self, shard_count: int) -> int:
        """Store N if none is stored yet; answers what is stored."""
        ...

    def set_firing(self, *, is_firing: bool) -> None:
        """The brake. Every node obeys within two beats."""
        ...
