"""The fleet's rows, and those of keys, grants and receipts."""

from __future__ import annotations

from dataclasses import replace

from infra.prove.exercises import OWNER, Bench, exercise, receipt_of
from shared.domain.access import ApiKey, Scope
from shared.domain.fleet import Lease, Node
from shared.domain.grants import Grant
from shared.domain.instants import DAY, MINUTE
from shared.domain.signing import SigningKey


def _fleet(bench: Bench) -> None:
    node = Node("node-1", 1, "proof", 1, bench.now)
    answer = bench.fleet.beat(node)
    bench.expect("the table tells its time", answer.store_time is not None, wanted=True)
    bench.expect("nobody owns it", bench.fleet.lease(3).lease, Lease(3))
    taken = bench.fleet.take(Lease(3), owner="node-1")
    bench.expect("take", taken, Lease(3, "node-1", 1))
    assert taken is not None
    bench.expect("take again after a lost answer", bench.fleet.take(Lease(3), owner="node-1"), taken)
    bench.expect("take what was seen before", bench.fleet.take(Lease(3), owner="node-2"), None)
    ahead = replace(taken, watermark=bench.now)
    bench.expect("checkpoint", bench.fleet.checkpoint(ahead), wanted=True)
    bench.expect("a lower checkpoint", bench.fleet.checkpoint(taken), wanted=True)
    bench.expect("the watermark stays", bench.fleet.lease(3).lease, ahead)
    bench.expect("of another", bench.fleet.checkpoint(replace(ahead, owner="node-2")), wanted=False)
    from_other = bench.fleet.take(ahead, owner="node-2")
    bench.expect("take from another", from_other, replace(ahead, owner="node-2", epoch=2))
    bench.expect("disown what is lost", bench.fleet.disown(ahead), wanted=False)
    assert from_other is not None
    bench.expect("disown", bench.fleet.disown(from_other), wanted=True)
    free = bench.fleet.lease(3).lease
    bench.expect("take a free one", bench.fleet.take(free, owner="node-1"), replace(free, owner="node-1", epoch=3))
    bench.expect("take one that was free", bench.fleet.take(free, owner="node-2"), None)
    bench.expect("pin", bench.fleet.pin_shard_count(16), 16)
    bench.expect("pin another", bench.fleet.pin_shard_count(8), 16)
    bench.fleet.set_firing(is_firing=False)
    seen = bench.fleet.snapshot()
    bench.expect("snapshot", (list(seen.nodes), list(seen.leases), seen.control.is_firing), (["node-1"], [3], False))
    bench.fleet.remove_node("node-1")
    bench.expect("removed", list(bench.fleet.snapshot().nodes), [])


def _keys(bench: Bench) -> None:
    key = ApiKey("k1", OWNER, "0" * 64, frozenset({Scope.READ}), bench.now, "proof")
    bench.expect("put", bench.access.put_key(key, receipt=receipt_of(bench, "key")), wanted=True)
    bench.expect("put another of its id", bench.access.put_key(replace(key, name="other")), wanted=False)
    second = replace(key, key_id="k2")
    bench.expect("put a second", bench.access.put_key(second), wanted=True)
    bench.expect("list", bench.access.keys_of_owner(OWNER, limit=5).items, (key, second))
    bench.expect("revoke", bench.access.revoke_key("k1", at=bench.now), wanted=True)
    bench.access.revoke_key("k1", at=bench.later(1))
    bench.expect("the first time counts", bench.access.key("k1"), replace(key, revoked_at=bench.now))
    bench.expect("revoke none", bench.access.revoke_key("none", at=bench.now), wanted=False)
    bench.expect("and none was made", bench.access.key("none"), None)


def _counters(bench: Bench) -> None:
    def lease(count: int) -> bool:
        until = bench.later(MINUTE)
        return bench.access.lease_requests(OWNER, window=bench.now, count=count, limit=10, expires_at=until)

    bench.expect("requests", [lease(6), lease(6), lease(4)], [True, False, True])
    book = bench.access.book_starts
    bench.expect("book", book(OWNER, at=bench.now, length_ms=MINUTE), bench.now)
    bench.expect("book behind it", book(OWNER, at=bench.now, length_ms=MINUTE), bench.later(MINUTE))
    receipt = receipt_of(bench, "alone")
    bench.expect("receipt", bench.access.put_receipt(receipt), None)
    bench.expect("another of its key", bench.access.put_receipt(replace(receipt, fingerprint="0" * 64)), receipt)
    bench.expect("read", bench.access.receipt(OWNER, "alone"), receipt)
    later = replace(receipt, at=bench.later(2 * DAY), expires_at=bench.later(3 * DAY))
    bench.expect("one that has lapsed is in nobody's way", bench.access.put_receipt(later), None)


def _lists(bench: Bench) -> None:
    grants = [Grant(OWNER, f"grant-{n}", "aws", f"arn:aws:sqs:eu-central-1:1:q{n}", bench.now, "proof") for n in (1, 2)]
    bench.expect("grant", bench.access.put_grant(grants[0], receipt=receipt_of(bench, "grant")), wanted=True)
    bench.expect("grant another", bench.access.put_grant(grants[1]), wanted=True)
    bench.expect("grants", bench.access.grants(OWNER), tuple(grants))
    bench.expect("no grant", bench.access.delete_grant(OWNER, "none"), wanted=False)
    bench.expect("delete", bench.access.delete_grant(OWNER, "grant-1"), wanted=True)
    key = SigningKey(OWNER, "signing-1", "whsec_1", bench.now, "proof")
    bench.expect("signing key", bench.access.put_signing_key(key), wanted=True)
    bench.expect("signing keys", bench.access.signing_keys(OWNER), (key,))
    bench.expect("delete it", bench.access.delete_signing_key(OWNER, "signing-1"), wanted=True)


EXERCISES = (
    exercise(
        "leases of shards, and the brake",
        _fleet,
        "fleet.beat fleet.control fleet.lease fleet.take fleet.checkpoint fleet.disown fleet.pin_shard_count "
        "fleet.set_firing fleet.snapshot fleet.remove_node ROWS_OF_KIND LEASE_NEVER_OWNED LEASE_IS_HELD LEASE_IS_FREE "
        "TAKE_LEASE WATERMARK_RISES RAISE_WATERMARK DISOWN_LEASE PIN_SHARD_COUNT SET_FIRING",
    ),
    exercise(
        "keys",
        _keys,
        "access.put_key access.key access.keys_of_owner access.revoke_key KEY_IS_NEW KEY_EXISTS ADD_KEY_ID REVOKE_KEY",
    ),
    exercise(
        "counters, bookings and receipts",
        _counters,
        "access.lease_requests access.book_starts access.put_receipt access.receipt LEASE_IS_LEFT LEASE_REQUESTS "
        "STARTS_ARE_FREE BOOK_STARTS STARTS_ARE_BOOKED BOOK_MORE_STARTS RECEIPT_IS_FREE",
    ),
    exercise(
        "lists of grants and signing keys",
        _lists,
        "access.put_grant access.grants access.delete_grant access.put_signing_key access.signing_keys "
        "access.delete_signing_key LIST_IS_NEW LIST_IS_AS_READ",
    ),
)
