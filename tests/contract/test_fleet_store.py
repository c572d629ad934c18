from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.fleet import Control, FleetSnapshot, Lease, Node
from shared.domain.instants import Instant
from tests.contract.races import race
from tests.contract.stores import Stores
from tests.contract.values import NOW

NODE = Node("node-1", 1, "1.0", 1, NOW, {3: Instant(NOW - 7), 12: NOW})


def taken(stores: Stores, *, watermark: int = 0) -> Lease:
    lease = stores.fleet.take(Lease(3), owner="node-1")
    assert lease is not None
    lease = replace(lease, watermark=Instant(watermark))
    assert stores.fleet.checkpoint(lease)
    return lease


def lease_of(stores: Stores, shard: int = 3) -> Lease:
    return stores.fleet.snapshot().lease(shard)


def test_an_empty_fleet_fires_and_has_no_leases(stores: Stores) -> None:
    assert stores.fleet.snapshot() == FleetSnapshot()


def test_a_beat_puts_the_node_and_tells_control_and_time(stores: Stores) -> None:
    stores.fleet.pin_shard_count(16)
    stores.fleet.set_firing(is_firing=False)

    answer = stores.fleet.beat(NODE)
    stores.fleet.beat(replace(NODE, beat=2))

    assert answer.control == Control(is_firing=False, shard_count=16)
    assert answer.store_time is not None
    assert stores.fleet.snapshot().nodes == {"node-1": replace(NODE, beat=2)}


def test_a_lease_is_told_with_the_time(stores: Stores) -> None:
    assert stores.fleet.lease(3).lease == Lease(3)
    lease = taken(stores, watermark=NOW)

    answer = stores.fleet.lease(3)

    assert answer.lease == lease
    assert answer.store_time is not None


def test_a_removed_node_is_gone(stores: Stores) -> None:
    stores.fleet.beat(NODE)

    stores.fleet.remove_node("node-1")
    stores.fleet.remove_node("node-1")

    assert stores.fleet.snapshot().nodes == {}


def test_the_first_owner_of_a_shard_has_epoch_one(stores: Stores) -> None:
    lease = stores.fleet.take(Lease(3), owner="node-1")

    assert lease == Lease(shard=3, owner="node-1", epoch=1)
    assert stores.fleet.snapshot().leases == {3: lease}


def test_a_shard_is_taken_from_its_owner_with_the_stored_watermark(stores: Stores) -> None:
    lease = taken(stores, watermark=50)

    later = stores.fleet.take(replace(lease, watermark=Instant(7)), owner="node-2")

    assert later == Lease(shard=3, owner="node-2", epoch=2, watermark=Instant(50))
    assert lease_of(stores) == later


def test_a_shard_without_owner_is_taken(stores: Stores) -> None:
    lease = taken(stores)
    stores.fleet.disown(lease)

    assert stores.fleet.take(lease, owner="node-2") is None
    assert stores.fleet.take(lease_of(stores), owner="node-2") == Lease(3, "node-2", 2)


def test_a_take_of_what_changed_meanwhile_is_lost(stores: Stores) -> None:
    seen = taken(stores)
    now = stores.fleet.take(seen, owner="node-2")

    assert stores.fleet.take(seen, owner="node-3") is None
    assert stores.fleet.take(Lease(3), owner="node-3") is None
    assert lease_of(stores) == now


def test_the_winner_of_a_take_wins_it_again(stores: Stores) -> None:
    seen = taken(stores)
    lease = stores.fleet.take(seen, owner="node-2")

    assert stores.fleet.take(seen, owner="node-2") == lease
    assert lease_of(stores) == lease


@pytest.mark.parametrize("was_owned", [False, True])
def test_of_many_takes_of_one_shard_exactly_one_wins(stores: Stores, was_owned: bool) -> None:
    seen = taken(stores) if was_owned else Lease(3)

    leases = race(lambda number: stores.fleet.take(seen, owner=f"racer-{number}"))

    [winner] = [lease for lease in leases if lease is not None]
    assert winner.epoch == seen.epoch + 1
    assert lease_of(stores) == winner


def test_the_watermark_rises_and_never_falls(stores: Stores) -> None:
    lease = taken(stores, watermark=50)

    for asked, stored in ((49, 50), (50, 50), (51, 51)):
        assert stores.fleet.checkpoint(replace(lease, watermark=Instant(asked)))
        assert lease_of(stores).watermark == stored


def test_a_checkpoint_of_an_older_epoch_is_fenced(stores: Stores) -> None:
    old = taken(stores, watermark=50)
    new = stores.fleet.take(old, owner="node-2")

    assert not stores.fleet.checkpoint(replace(old, watermark=Instant(99)))
    assert not stores.fleet.checkpoint(replace(old, epoch=2, watermark=Instant(99)))
    assert lease_of(stores) == new


def test_a_checkpoint_of_a_shard_without_owner_is_fenced(stores: Stores) -> None:
    lease = taken(stores)
    stores.fleet.disown(lease)

    assert not stores.fleet.checkpoint(replace(lease, watermark=Instant(99)))
    assert not stores.fleet.checkpoint(replace(lease, owner=None, watermark=Instant(99)))
    assert not stores.fleet.checkpoint(Lease(9, watermark=Instant(99)))
    assert lease_of(stores).watermark == 0


def test_a_disowned_shard_keeps_epoch_and_watermark(stores: Stores) -> None:
    lease = taken(stores, watermark=50)

    assert stores.fleet.disown(lease)
    assert lease_of(stores) == replace(lease, owner=None)
    assert stores.fleet.disown(lease)


def test_a_shard_that_another_took_is_not_disowned(stores: Stores) -> None:
    old = taken(stores)
    new = stores.fleet.take(old, owner="node-2")

    assert not stores.fleet.disown(old)
    assert lease_of(stores) == new


def test_the_first_shard_count_is_pinned(stores: Stores) -> None:
    stores.fleet.set_firing(is_firing=False)

    assert stores.fleet.pin_shard_count(16) == 16
    assert stores.fleet.pin_shard_count(4) == 16
    assert stores.fleet.snapshot().control == Control(is_firing=False, shard_count=16)


def test_the_brake_is_pulled_and_released(stores: Stores) -> None:
    for is_firing in (False, True):
        stores.fleet.set_firing(is_firing=is_firing)
        assert stores.fleet.snapshot().control.is_firing is is_firing
