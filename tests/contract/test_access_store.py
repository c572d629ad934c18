from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.domain.access import ApiKey, Chosen, Receipt, Scope
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from tests.contract.races import race
from tests.contract.stores import Stores
from tests.contract.values import (
    NOW,
    creation,
    make_grant,
    make_job,
    make_key,
    make_receipt,
    make_signing_key,
    receipt_of,
)


def test_every_field_comes_back_as_it_was(stores: Stores) -> None:
    key = make_key(name="", scopes=frozenset(Scope), expires_at=Instant(NOW + 1), revoked_at=Instant(NOW + 2))

    assert stores.access.put_key(key)
    assert stores.access.key("a1") == key
    assert stores.access.key("none") is None


def test_a_key_without_scopes_is_stored(stores: Stores) -> None:
    stores.access.put_key(make_key(scopes=frozenset(), created_by=""))

    assert stores.access.key("a1") == make_key(scopes=frozenset(), created_by="")


def test_a_taken_key_id_is_refused_and_nothing_is_written(stores: Stores) -> None:
    first = make_key()
    stores.access.put_key(first)

    assert not stores.access.put_key(make_key(owner_id="other"))
    assert stores.access.key("a1") == first
    assert stores.access.keys_of_owner("other", limit=10).items == ()


def test_of_many_keys_of_one_id_exactly_one_is_stored(stores: Stores) -> None:
    answers = race(lambda number: stores.access.put_key(make_key(name=str(number))))

    assert answers.count(True) == 1
    assert stores.access.key("a1") == make_key(name=str(answers.index(True)))


def put_any(stores: Stores, kind: str, number: int, receipt: Receipt | None) -> bool:
    put: dict[str, Callable[[], bool]] = {
        "key": lambda: stores.access.put_key(make_key(f"id-{number}"), receipt=receipt),
        "signing key": lambda: stores.access.put_signing_key(make_signing_key(number), receipt=receipt),
        "grant": lambda: stores.access.put_grant(make_grant(number), receipt=receipt),
    }
    return put[kind]()


def count(stores: Stores) -> int:
    access = stores.access
    return len(access.keys_of_owner("acme", limit=10).items) + len(access.signing_keys("acme") + access.grants("acme"))


KINDS = ("key", "signing key", "grant")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_made_is_stored_with_its_receipt_or_not_at_all(stores: Stores, kind: str) -> None:
    first, second = receipt_of("one"), receipt_of("two")

    assert put_any(stores, kind, 1, first)
    assert put_any(stores, kind, 1, first)
    assert not put_any(stores, kind, 2, second)
    assert (stores.access.receipt("acme", "once"), count(stores)) == (first, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_leaves_no_receipt(stores: Stores, kind: str) -> None:
    stores.access.put_key(make_key("id-1", name="another"))
    stores.access.put_signing_key(make_signing_key(1, created_by="another"))
    stores.access.put_grant(make_grant(1, created_by="another"))

    assert not put_any(stores, kind, 1, receipt_of("one"))
    assert stores.access.receipt("acme", "once") is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_past_its_end_is_not_in_the_way(stores: Stores, kind: str) -> None:
    assert put_any(stores, kind, 1, receipt_of("one", expires_at=Instant(NOW + 5)))
    assert not put_any(stores, kind, 2, receipt_of("two", at=Instant(NOW + 4)))
    assert put_any(stores, kind, 2, receipt_of("two", at=Instant(NOW + 5)))


@pytest.mark.parametrize("kind", KINDS)
def test_of_many_made_at_once_under_one_idempotency_key_one_is_stored(stores: Stores, kind: str) -> None:
    answers = race(lambda number: put_any(stores, kind, number, receipt_of(str(number))))

    assert (answers.count(True), count(stores)) == (1, 1)
    assert stores.access.receipt("acme", "once") == receipt_of(str(answers.index(True)))


def test_a_key_is_revoked_once(stores: Stores) -> None:
    stores.access.put_key(make_key())

    assert stores.access.revoke_key("a1", at=NOW)
    assert stores.access.revoke_key("a1", at=Instant(NOW + 1))
    assert stores.access.key("a1") == make_key(revoked_at=NOW)


def test_a_key_that_is_not_there_is_not_revoked(stores: Stores) -> None:
    assert not stores.access.revoke_key("none", at=NOW)
    assert stores.access.key("none") is None


def test_the_keys_of_an_owner_are_listed_by_pages(stores: Stores) -> None:
    keys = {make_key(f"id-{number}") for number in range(7)}
    for key in (*keys, make_key("foreign", owner_id="acme2")):
        stores.access.put_key(key)
    listed: list[ApiKey] = []
    cursor = None
    for _ in range(4):
        page = stores.access.keys_of_owner("acme", limit=3, cursor=cursor)
        assert len(page.items) <= 3
        listed += page.items
        cursor = page.cursor
        if cursor is None:
            break

    assert cursor is None
    assert len(listed) == 7
    assert set(listed) == keys


def lease(stores: Stores, owner_id: str = "acme", *, window: int = NOW, count: int = 3) -> bool:
    end = Instant(window + 10_000)
    return stores.access.lease_requests(owner_id, window=Instant(window), count=count, limit=7, expires_at=end)


def test_no_more_requests_are_leased_than_a_window_has(stores: Stores) -> None:
    assert [lease(stores), lease(stores), lease(stores)] == [True, True, False]
    assert lease(stores, count=1)
    assert not lease(stores, count=1)
    assert lease(stores, window=NOW + 10_000)
    assert lease(stores, "acme2", count=7)


def test_many_who_lease_at_once_get_no_more_than_there_is(stores: Stores) -> None:
    assert race(lambda _: lease(stores, count=2)).count(True) == 3


def test_starts_are_booked_one_behind_the_other(stores: Stores) -> None:
    def book(at: int, length_ms: int, owner_id: str = "acme") -> int:
        return stores.access.book_starts(owner_id, at=Instant(NOW + at), length_ms=length_ms) - NOW

    assert [book(0, 1_500), book(1, 10), book(1_509, 5), book(1_515, 7), book(1_521, 1)] == [
        0, 1_500, 1_510, 1_515, 1_522,
    ]  # fmt: skip
    assert book(1_523, 1) == 1_523
    assert book(0, 1, "acme2") == 0


def test_starts_that_are_booked_at_once_do_not_overlap(stores: Stores) -> None:
    starts = race(lambda _: stores.access.book_starts("acme", at=NOW, length_ms=10))

    assert sorted(starts) == [NOW + 10 * number for number in range(len(starts))]


def test_a_receipt_is_answered_until_its_end(stores: Stores) -> None:
    receipt = make_receipt("key with # and \U0001f680", expires_at=Instant(stores.clock.now() + 1_500))
    stores.jobs.write(creation(make_job(), receipt=receipt))

    assert stores.access.receipt("acme", receipt.idempotency_key) == receipt
    assert stores.access.receipt("acme2", receipt.idempotency_key) is None
    stores.clock.advance(1_499)
    assert stores.access.receipt("acme", receipt.idempotency_key) == receipt
    stores.clock.advance(1)
    assert stores.access.receipt("acme", receipt.idempotency_key) is None


def test_receipts_of_two_owners_with_one_key_are_two(stores: Stores) -> None:
    mine, other = make_receipt(), make_receipt(owner_id="acme2", fingerprint="other")
    stores.jobs.write(creation(make_job(), receipt=mine))
    stores.jobs.write(creation(make_job(owner_id="acme2"), receipt=other))

    assert stores.access.receipt("acme", "once") == mine
    assert stores.access.receipt("acme2", "once") == replace(other)


def test_a_receipt_is_stored_by_itself_where_none_is_in_the_way(stores: Stores) -> None:
    chosen = (Chosen(RunKey("acme/a", "r-1"), 3), Chosen(RunKey("acme/b#\U0001f680", "r-2"), 1, "job_paused"))
    first = replace(make_receipt(job_id="", generation=0, revision=0), chosen=chosen, next_cursor="on")
    later = replace(first, fingerprint="other", at=Instant(NOW + 1))

    assert stores.access.put_receipt(first) is None
    assert stores.access.put_receipt(first) is None
    assert stores.access.put_receipt(later) == first
    assert stores.access.receipt("acme", "once") == first
    assert stores.access.put_receipt(replace(later, at=first.expires_at)) is None


def test_of_many_receipts_of_one_idempotency_key_one_is_stored(stores: Stores) -> None:
    answers = race(lambda number: stores.access.put_receipt(receipt_of(str(number))))

    winner = receipt_of(str(answers.index(None)))
    assert stores.access.receipt("acme", "once") == winner
    assert [answer for answer in answers if answer is not None] == [winner] * (len(answers) - 1)
