from __future__ import annotations

from functions.scheduler.membership import Observer, Trust
from functions.scheduler.planning import plan
from shared.domain.fleet import FleetSnapshot, Lease, Node
from shared.domain.instants import Instant


def node(node_id: str, beat: int = 1) -> Node:
    return Node(node_id, beat, "test", 1, Instant(0))


def fleet(owners: str, *nodes: str) -> FleetSnapshot:
    """`fleet("aab-", "a", "b")`: shard 0 and 1 are a's, 2 is b's, 3 nobody's."""
    leases = {shard: Lease(shard, None if owner == "-" else owner, epoch=1) for shard, owner in enumerate(owners)}
    return FleetSnapshot({each: node(each) for each in nodes}, leases)


def held_by(me: str, owners: str) -> set[int]:
    return {shard for shard, owner in enumerate(owners) if owner == me}


def planned(
    owners: str, *nodes: str, me: str = "a", dead: frozenset[str] = frozenset()
) -> tuple[list[int], int | None]:
    answer = plan(fleet(owners, *nodes), me=me, holding=held_by(me, owners), dead=dead, shard_count=len(owners))
    return [lease.shard for lease in answer.orphans], answer.balance.shard if answer.balance else None


def test_ownerless_shards_are_taken_all_at_once() -> None:
    assert planned("----", "a") == ([0, 1, 2, 3], None)


def test_a_dead_nodes_shards_are_taken_whatever_the_balance() -> None:
    assert planned("aaabbb", "a", "b", dead=frozenset("b")) == ([3, 4, 5], None)


def test_a_node_without_a_row_has_left() -> None:
    assert planned("aabb", "a") == ([2, 3], None)


def test_a_fair_share_is_left_alone() -> None:
    assert planned("aabb", "a", "b") == ([], None)
    assert planned("aabbb", "a", "b", me="a") == ([], 2)
    assert planned("aaabb", "a", "b", me="b") == ([], None)


def test_balance_takes_one_shard_from_whoever_has_most() -> None:
    assert planned("bbccccc", "a", "b", "c") == ([], 2)


def test_a_node_that_never_met_a_shard_sees_it_ownerless() -> None:
    assert [lease.shard for lease in plan(FleetSnapshot(), me="a", holding=(), dead=(), shard_count=3).orphans] == [
        0,
        1,
        2,
    ]


def observed(observer: Observer, at: float, **beats: int) -> None:
    observer.observe({each: node(each, beat) for each, beat in beats.items()}, at=at)


def test_silence_makes_a_node_dead_at_exactly_the_limit() -> None:
    observer = Observer(dead_ms=4_000, longest_step_ms=1_500)
    for second in range(4):
        observed(observer, float(second), b=7)
    assert not observer.is_dead("b")
    observed(observer, 4.0, b=7)
    assert observer.is_dead("b")


def test_a_new_beat_starts_the_wait_again() -> None:
    """B17."""
    observer = Observer(dead_ms=4_000, longest_step_ms=1_500)
    for second in range(4):
        observed(observer, float(second), b=7)
    observed(observer, 4.0, b=8)
    for second in range(5, 8):
        observed(observer, float(second), b=8)
    assert not observer.is_dead("b")


def test_after_an_outage_of_the_table_nobody_is_dead() -> None:
    observer = Observer(dead_ms=4_000, longest_step_ms=1_500)
    observed(observer, 0.0, b=7)
    observed(observer, 60.0, b=7)
    assert not observer.is_dead("b")


def test_trust_ends_at_the_start_of_the_last_beat_plus_its_span() -> None:
    trust = Trust(3_000)
    trust.beaten(started_at=10.0, answered_at=12.0)
    trust.epochs_read(started_at=12.5)
    assert trust.holds(12.999)
    assert not trust.holds(13.0)


def test_lapsed_trust_needs_the_epochs_again() -> None:
    trust = Trust(3_000)
    trust.beaten(started_at=0.0, answered_at=0.1)
    trust.epochs_read(started_at=0.2)
    trust.beaten(started_at=3.5, answered_at=3.6)
    assert not trust.holds(3.7)
    trust.epochs_read(started_at=3.8)
    assert trust.holds(3.9)


def test_a_beat_within_the_span_keeps_the_trust() -> None:
    trust = Trust(3_000)
    trust.beaten(started_at=0.0, answered_at=0.1)
    trust.epochs_read(started_at=0.2)
    trust.beaten(started_at=2.0, answered_at=2.9)
    assert trust.holds(4.9)
