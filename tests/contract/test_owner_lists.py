"""Of AccessStore: the grants of an owner, and the keys that sign its webhooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from shared.adapters.aws.client import dynamodb_client
from shared.config import TableNames
from shared.domain.limits import MAX_GRANTS, MAX_SIGNING_KEYS
from tests.contract.faults import LOST, Faults
from tests.contract.races import race
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import NOW, make_grant, make_signing_key
from tests.emulator import aws_environment


def test_an_owner_has_nothing_at_first(stores: Stores) -> None:
    assert stores.access.grants("acme") == ()
    assert stores.access.signing_keys("acme") == ()


def test_grants_come_back_as_they_were_and_in_order(stores: Stores) -> None:
    first, second = (
        make_grant(1),
        make_grant(2, members=("a.b[]=c",), role_arn="arn:aws:iam::123456789012:role/r", target_type="lambda"),
    )

    assert stores.access.put_grant(first)
    assert stores.access.put_grant(second)
    assert stores.access.grants("acme") == (first, second)
    assert stores.access.grants("acme2") == ()


def test_a_grant_that_is_stored_may_be_put_again(stores: Stores) -> None:
    assert stores.access.put_grant(make_grant())
    assert stores.access.put_grant(make_grant())
    assert stores.access.grants("acme") == (make_grant(),)


def test_a_taken_grant_id_is_refused(stores: Stores) -> None:
    stores.access.put_grant(make_grant())

    assert not stores.access.put_grant(make_grant(resource="another"))
    assert stores.access.grants("acme") == (make_grant(),)


def test_a_deleted_grant_is_gone_and_the_others_stay(stores: Stores) -> None:
    for number in (1, 2, 3):
        stores.access.put_grant(make_grant(number))

    assert stores.access.delete_grant("acme", "grant-2")
    assert not stores.access.delete_grant("acme", "grant-2")
    assert not stores.access.delete_grant("acme2", "grant-1")
    assert stores.access.grants("acme") == (make_grant(1), make_grant(3))


def test_an_owner_has_so_many_grants_and_no_more(stores: Stores) -> None:
    assert all(stores.access.put_grant(make_grant(number)) for number in range(MAX_GRANTS))

    assert not stores.access.put_grant(make_grant(MAX_GRANTS))
    assert stores.access.delete_grant("acme", "grant-7")
    assert stores.access.put_grant(make_grant(MAX_GRANTS))
    assert len(stores.access.grants("acme")) == MAX_GRANTS


def test_grants_put_at_once_are_all_stored(stores: Stores) -> None:
    answers = race(lambda number: stores.access.put_grant(make_grant(number)))

    assert set(answers) == {True}
    assert len(stores.access.grants("acme")) == len(answers)


def test_signing_keys_come_back_as_they_were(stores: Stores) -> None:
    keys = tuple(make_signing_key(number) for number in range(MAX_SIGNING_KEYS))
    for key in keys:
        assert stores.access.put_signing_key(key)
        assert stores.access.put_signing_key(key)

    assert stores.access.signing_keys("acme") == keys
    assert stores.access.signing_keys("acme2") == ()


def test_a_third_signing_key_has_no_place_until_one_is_removed(stores: Stores) -> None:
    for number in (1, 2):
        stores.access.put_signing_key(make_signing_key(number))

    assert not stores.access.put_signing_key(make_signing_key(3))
    assert stores.access.delete_signing_key("acme", "key-1")
    assert not stores.access.delete_signing_key("acme", "key-1")
    assert stores.access.put_signing_key(make_signing_key(3))
    assert stores.access.signing_keys("acme") == (make_signing_key(2), make_signing_key(3))


def test_of_many_signing_keys_put_at_once_two_are_stored(stores: Stores) -> None:
    answers = race(lambda number: stores.access.put_signing_key(make_signing_key(number)))

    assert answers.count(True) == MAX_SIGNING_KEYS
    assert {key.key_id for key in stores.access.signing_keys("acme")} == {
        f"key-{number}" for number, is_stored in enumerate(answers) if is_stored
    }


def test_a_taken_id_of_a_signing_key_is_refused(stores: Stores) -> None:
    stores.access.put_signing_key(make_signing_key())

    assert not stores.access.put_signing_key(make_signing_key(created_at=NOW + 1))


def test_a_signing_key_never_shows_its_secret() -> None:
    assert "whsec" not in repr(make_signing_key())


@pytest.fixture
def faulty(emulator_endpoint: str, tables: TableNames) -> Iterator[tuple[Stores, Faults]]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    yield dynamo_stores(client, tables), Faults(client)
    client.close()


@pytest.mark.emulator
def test_a_lost_answer_is_no_refusal(faulty: tuple[Stores, Faults]) -> None:
    stores, faults = faulty
    changes: list[Callable[[], bool]] = [
        lambda: stores.access.put_grant(make_grant()),
        lambda: stores.access.delete_grant("acme", "grant-1"),
        lambda: stores.access.put_signing_key(make_signing_key()),
        lambda: stores.access.delete_signing_key("acme", "key-1"),
    ]
    for change in changes:
        faults.script("PutItem", LOST)
        assert change()
    assert (stores.access.grants("acme"), stores.access.signing_keys("acme")) == ((), ())
