"""Keys, signing keys and grants: who may make them, and what is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from functions.api.authentication import CACHE_SECONDS
from shared.domain.access import Scope
from shared.domain.instants import HOUR, SECOND, Instant, to_rfc3339
from shared.domain.limits import MAX_GRANTS, MAX_KEYS_OF_OWNER, MAX_SIGNING_KEYS
from tests.unit.api.world import Reply, World

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:report"


def create(world: World, *scopes: str, **options: Any) -> Reply:
    body: dict[str, Any] = {
        "scopes": list(scopes),
        **{name: options.pop(name) for name in ("name", "expires_at") if name in options},
    }
    return world.send("POST", "/v1/keys", body, **options)


def test_a_key_is_shown_once_and_works_at_once() -> None:
    world = World()
    made = create(world, "read", name="deploy")
    assert made.status == 201
    assert world.send("GET", "/v1/jobs", key=made.json["key"]).status == 200
    assert world.send("GET", "/v1/keys", key=made.json["key"]).status == 200
    listed = world.send("GET", "/v1/keys").json["items"]
    assert made.json["key_id"] in {item["key_id"] for item in listed}
    assert made.json["key"] not in str(listed)
    assert made.json["created_by"] == f"key:crl_{world.key_of(world.key_text).key_id}"


def test_nobody_hands_on_a_scope_that_they_have_not() -> None:
    world = World()
    writer = world.mint("acme", Scope.WRITE)
    before = world.contents()
    for scopes in (["read"], ["write", "admin"]):
        assert create(world, *scopes, key=writer).status == 403
    assert world.contents() == before
    assert create(world, "write", key=writer).status == 201


def test_a_key_that_ends_makes_none_that_lives_longer() -> None:
    world = World()
    end = Instant(world.clock.now() + HOUR)
    ending = world.mint("acme", expires_at=end)
    for expires_at in (None, to_rfc3339(Instant(end + 1))):
        refused = world.send("POST", "/v1/keys", {"scopes": ["read"], "expires_at": expires_at}, key=ending)
        assert (refused.status, refused.pointers) == (400, ["#/expires_at"])
    made = world.send("POST", "/v1/keys", {"scopes": ["read"], "expires_at": to_rfc3339(end)}, key=ending)
    assert made.status == 201


def test_nobody_revokes_a_key_that_may_do_more() -> None:
    world = World()
    admins = create(world, "read", "write", "admin").json
    writer = world.mint("acme", Scope.WRITE)
    assert world.send("DELETE", f"/v1/keys/{admins['key_id']}", key=writer).status == 403
    assert world.send("GET", "/v1/keys", key=admins["key"]).status == 200


def test_a_key_is_revoked_once_and_refused_within_a_minute() -> None:
    world = World()
    made = create(world, "read").json
    path = f"/v1/keys/{made['key_id']}"
    assert world.send("GET", "/v1/jobs", key=made["key"]).status == 200
    revoked = world.send("DELETE", path)
    assert (revoked.status, revoked.json["revoked_at"]) == (200, "2026-11-27T00:00:00.000Z")
    world.clock.advance(int(CACHE_SECONDS * SECOND))
    assert world.send("DELETE", path).json == revoked.json
    assert world.send("GET", "/v1/jobs", key=made["key"]).status == 401


def test_two_keys_live_at_once_while_one_is_rotated() -> None:
    world = World()
    old, new = create(world, "read", "write").json, create(world, "read", "write").json
    assert world.send("DELETE", f"/v1/keys/{old['key_id']}", key=new["key"]).status == 200
    assert world.send("GET", "/v1/jobs", key=new["key"]).status == 200


def test_a_key_expires_when_it_says() -> None:
    world = World()
    made = create(world, "read", expires_at="2026-11-27T00:00:05Z").json
    world.clock.advance(4_999)
    assert world.send("GET", "/v1/jobs", key=made["key"]).status == 200
    world.clock.advance(1)
    assert world.send("GET", "/v1/jobs", key=made["key"]).status == 401


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"scopes": []}, "#/scopes"),
        ({"scopes": ["root"]}, "#/scopes/0"),
        ({}, "#/scopes"),
        ({"scopes": ["read"], "expires_at": "2026-11-27T00:00:00Z"}, "#/expires_at"),
        ({"scopes": ["read"], "expires_at": "soon"}, "#/expires_at"),
        ({"scopes": ["read"], "name": "a" * 201}, "#/name"),
        ({"scopes": ["read"], "key": "mine"}, "#/key"),
    ],
)
def test_a_wrong_key_is_refused_by_name(body: dict[str, Any], pointer: str) -> None:
    world = World()
    before = world.contents()
    reply = world.send("POST", "/v1/keys", body)
    assert (reply.status, reply.pointers) == (400, [pointer])
    assert world.contents() == before


def test_an_owner_has_so_many_live_keys_and_no_more() -> None:
    world = World()
    made = [create(world, "read") for _ in range(MAX_KEYS_OF_OWNER - 1)]
    assert {each.status for each in made} == {201}
    assert create(world, "read").status == 409
    world.send("DELETE", f"/v1/keys/{made[0].json['key_id']}")
    assert create(world, "read").status == 201


def test_keys_are_listed_page_by_page() -> None:
    world = World()
    for _ in range(4):
        create(world, "read")
    first = world.send("GET", "/v1/keys", query="limit=3").json
    second = world.send("GET", "/v1/keys", query=f"limit=3&cursor={first['next_cursor']}").json
    assert len(first["items"]) + len(second["items"]) == 5
    assert second["next_cursor"] is None


def test_neither_key_nor_secret_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    made = create(world, "read", name="n").json
    secret = world.send("POST", "/v1/signing-keys").json["secret"]
    world.send("DELETE", f"/v1/keys/{made['key_id']}")
    logged = str([vars(record) for record in caplog.records])
    assert made["key"] not in logged
    assert secret not in logged
    assert [vars(record)["action"] for record in caplog.records] == ["key.create", "signing_key.create", "key.revoke"]


def test_two_signing_keys_live_at_once_and_a_third_needs_room() -> None:
    world = World()
    made = [world.send("POST", "/v1/signing-keys") for _ in range(MAX_SIGNING_KEYS)]
    assert all(each.json["secret"].startswith("whsec_") for each in made)
    assert world.send("POST", "/v1/signing-keys").status == 409
    listed = world.send("GET", "/v1/signing-keys")
    assert [item["key_id"] for item in listed.json["items"]] == [each.json["key_id"] for each in made]
    assert "whsec_" not in listed.text
    path = f"/v1/signing-keys/{made[0].json['key_id']}"
    assert world.send("DELETE", path).json["outcome"] == "deleted"
    assert world.send("DELETE", path).status == 404
    assert world.send("POST", "/v1/signing-keys").status == 201


def test_an_admin_grants_and_the_owner_sees_it() -> None:
    world = World()
    admin, owner = world.mint("operators"), world.mint("acme", Scope.READ)
    body = {"target_type": "lambda", "resource": ARN}
    made = world.send("POST", "/v1/grants", body, query="owner_id=acme", key=admin)
    assert (made.status, made.json["owner_id"], made.json["resource"]) == (201, "acme", ARN)
    assert world.send("GET", "/v1/grants", key=owner).json["items"] == [made.json]
    assert world.send("GET", "/v1/grants", key=admin).json["items"] == []
    path = f"/v1/grants/{made.json['grant_id']}"
    assert world.send("DELETE", path, key=admin).status == 404
    assert world.send("DELETE", path, query="owner_id=acme", key=admin).json["outcome"] == "deleted"
    assert world.send("GET", "/v1/grants", key=owner).json["items"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"target_type": "ftp", "resource": "x"}, "#/target_type"),
        ({"target_type": "lambda", "resource": "*"}, "#/resource"),
        ({"target_type": "lambda", "resource": ARN, "owner_id": "x"}, "#/owner_id"),
    ],
)
def test_a_wrong_grant_is_refused_by_name(body: dict[str, Any], pointer: str) -> None:
    reply = World().send("POST", "/v1/grants", body)
    assert (reply.status, reply.pointers) == (400, [pointer])


def test_grants_are_bounded() -> None:
    world = World()
    for number in range(MAX_GRANTS):
        body = {"target_type": "http", "resource": f"h{number}.example.com"}
        assert world.send("POST", "/v1/grants", body).status == 201
    assert world.send("POST", "/v1/grants", {"target_type": "http", "resource": "one.example.com"}).status == 409


def test_the_brake_is_set_and_released_and_shown() -> None:
    world = World()
    off = world.send("PUT", "/v1/fleet/firing", {"on": False})
    assert (off.status, off.json, world.tables.is_firing) == (200, {"on": False}, False)
    assert world.send("GET", "/v1/fleet").json["firing"] is False
    assert world.send("PUT", "/v1/fleet/firing", {"on": True}).json == {"on": True}
    assert world.tables.is_firing


@pytest.mark.parametrize("body", [{}, {"on": "false"}, {"on": 0}, {"off": True}])
def test_what_is_no_setting_of_the_brake_is_refused(body: dict[str, Any]) -> None:
    world = World()
    assert world.send("PUT", "/v1/fleet/firing", body).status == 400
    assert world.tables.is_firing


def test_the_fleet_shows_nodes_and_shards_with_their_lag() -> None:
    world = World()
    shown = world.send("GET", "/v1/fleet").json
    assert (shown["nodes"], len(shown["shards"]), shown["shards"][0]["owner"]) == ([], 4, None)
    world.own_shards("node-1", watermark=Instant(world.clock.now() - 1_500))
    shown = world.send("GET", "/v1/fleet").json
    assert shown["nodes"][0]["shards"] == [0, 1, 2, 3]
    assert shown["shards"][2] == {
        "shard": 2, "owner": "node-1", "epoch": 1, "watermark": "2026-11-26T23:59:58.500Z", "lag_ms": 1_500,
    }  # fmt: skip
