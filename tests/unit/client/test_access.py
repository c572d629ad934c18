from __future__ import annotations

from datetime import UTC, datetime

import pytest

from carillon.client.errors import Forbidden, GrantNotFound, KeyNotFound, NoRoom, Unauthenticated
from shared.domain.access import Scope
from shared.domain.instants import MINUTE
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, client_of


def test_a_key_is_made_used_and_revoked() -> None:
    world = World()
    client = client_of(world)
    made = client.create_key(scopes=["read"], name="dashboard", expires_at=datetime(2027, 1, 1, tzinfo=UTC))
    assert (made["scopes"], made["expires_at"]) == (["read"], "2027-01-01T00:00:00.000Z")
    reader = client_of(world, key=made["key"])
    assert list(reader.list_jobs()) == []
    with pytest.raises(Forbidden):
        reader.create_job(schedule=NIGHTLY, target=HTTP)
    assert client.revoke_key(made["key_id"])["revoked_at"]
    assert made["key_id"] in [key["key_id"] for key in client.list_keys()]
    world.clock.advance(2 * MINUTE)
    with pytest.raises(Unauthenticated):
        list(reader.list_jobs())
    with pytest.raises(KeyNotFound):
        client.revoke_key("000000000000")


def test_nobody_hands_on_a_scope_that_they_have_not() -> None:
    world = World()
    with pytest.raises(Forbidden):
        client_of(world, key=world.mint("acme", Scope.READ, Scope.WRITE)).create_key(scopes=["admin"])


def test_two_signing_keys_may_live() -> None:
    client = client_of(World())
    first, second = client.create_signing_key(), client.create_signing_key()
    assert first["secret"].startswith("whsec_")
    with pytest.raises(NoRoom):
        client.create_signing_key()
    client.delete_signing_key(first["key_id"])
    assert [key["key_id"] for key in client.list_signing_keys()] == [second["key_id"]]


def test_an_admin_grants_to_an_owner() -> None:
    world = World()
    admin = client_of(world, owner="other")
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:report"
    grant = admin.create_grant(target_type="lambda", resource=arn)
    assert (grant["owner_id"], grant["resource"]) == ("other", arn)
    assert list(client_of(world, key=world.mint("other", Scope.READ)).list_grants()) == [grant]
    admin.delete_grant(grant["grant_id"])
    with pytest.raises(GrantNotFound):
        admin.delete_grant(grant["grant_id"])
