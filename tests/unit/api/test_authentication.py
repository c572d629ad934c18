from __future__ import annotations

import pytest

from functions.api.authentication import CACHE_SECONDS
from shared.domain.access import Scope
from shared.domain.instants import MINUTE, SECOND, Instant
from tests.unit.api.prepared import Example, examples, prepared
from tests.unit.api.world import World

CACHE_MS = int(CACHE_SECONDS * SECOND)

SCOPED = [each for each in examples() if each.route.scope is not None]


@pytest.mark.parametrize("example", SCOPED, ids=str)
def test_without_a_key_nothing_is_answered_but_that(example: Example) -> None:
    reply = World().send(example.route.method, example.path, "no json", key=None)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Bearer realm="carillon"'
    assert reply.headers["content-type"] == "application/problem+json"
    assert "errors" not in reply.json


@pytest.mark.parametrize("example", SCOPED, ids=str)
def test_a_key_without_the_scope_is_refused_by_its_name(example: Example) -> None:
    world = prepared()
    scope = example.route.scope
    key = world.mint("acme", *(other for other in Scope if other is not scope))
    before = world.contents()
    reply = example.send(world, key=key)
    assert reply.status == 403
    assert f"scope {scope}" in reply.json["detail"]
    assert f'scope="{scope}"' in reply.headers["www-authenticate"]
    assert world.contents() == before


@pytest.mark.parametrize("example", SCOPED, ids=str)
@pytest.mark.parametrize("fault", ["expired", "revoked", "truncated", "forged", "of nobody"])
def test_a_key_that_is_not_valid_any_more_or_never_was_opens_no_route(example: Example, fault: str) -> None:
    world = prepared()
    text = world.mint("acme", expires_at=Instant(world.clock.now() + 1) if fault == "expired" else None)
    world.clock.advance(1)
    if fault == "revoked":
        world.access.revoke_key(world.key_of(text).key_id, at=world.clock.now())
    text = {"truncated": text[:-1], "forged": text[:-4] + "AAAA", "of nobody": "crl_0123456789ab_" + "A" * 43}.get(
        fault, text
    )
    before = world.contents()
    assert example.send(world, key=text).status == 401
    assert world.contents() == before


@pytest.mark.parametrize(
    "authorization",
    [
        "Basic abc",
        "Bearer",
        "Bearer ",
        "Bearer abc",
        "Bearer crl_",
        "Bearer crl_abc",
        "Bearer crl_abc_",
        "Bearer xyz_abc_def",
        "Bearer crl_ab#c_secret",
        "Bearer crl_" + "a" * 5_000 + "_x",
        "Bearer crl_missing_secret",
        "crl_a_b",
        "Bearer crl_ü_x",
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_key_of_ours_is_refused(authorization: str) -> None:
    reply = World().send("GET", "/v1/jobs", key=None, authorization=authorization)
    assert reply.status == 401
    assert 'error="invalid_token"' in reply.headers["www-authenticate"]


def test_a_right_id_with_a_wrong_secret_is_refused() -> None:
    world = World()
    assert world.send("GET", "/v1/jobs", key=world.key_text[:-1] + "!").status == 401
    assert world.send("GET", "/v1/jobs").status == 200
    assert world.send("GET", "/v1/jobs", key=world.key_text[:-1] + "!").status == 401


def test_a_key_admits_until_it_expires() -> None:
    world = World()
    key = world.mint("acme", Scope.READ, expires_at=Instant(world.clock.now() + 5_000))
    world.clock.advance(4_999)
    assert world.send("GET", "/v1/jobs", key=key).status == 200
    world.clock.advance(1)
    assert world.send("GET", "/v1/jobs", key=key).status == 401


def test_a_revoked_key_is_refused_at_once_by_who_has_not_seen_it_and_within_a_minute_by_others() -> None:
    world = World()
    assert world.send("GET", "/v1/jobs").status == 200
    world.access.revoke_key(world.key_of(world.key_text).key_id, at=world.clock.now())
    assert world.send("GET", "/v1/jobs", handler=world.process()).status == 401
    world.clock.advance(CACHE_MS - 1)
    assert world.send("GET", "/v1/jobs").status == 200
    world.clock.advance(1)
    assert world.send("GET", "/v1/jobs").status == 401


def test_a_wall_clock_that_is_set_back_does_not_keep_a_revoked_key_alive() -> None:
    world = World()
    assert world.send("GET", "/v1/jobs").status == 200
    world.access.revoke_key(world.key_of(world.key_text).key_id, at=world.clock.now())
    world.clock.advance(CACHE_MS)
    world.clock.step(-CACHE_MS)
    assert world.send("GET", "/v1/jobs").status == 401


def test_a_key_that_was_not_there_works_as_soon_as_it_is() -> None:
    world = World()
    text = world.mint("acme", Scope.READ)
    key = world.key_of(text)
    del world.tables.keys[key.key_id]
    assert world.send("GET", "/v1/jobs", key=text).status == 401
    world.access.put_key(key)
    assert world.send("GET", "/v1/jobs", key=text).status == 200


def test_health_is_open_and_tells_version_and_zone_data() -> None:
    reply = World().send("GET", "/v1/health", key=None)
    assert reply.status == 200
    assert (reply.json["status"], reply.json["version"]) == ("ok", "1.2.3")
    assert reply.json["tzdata"].startswith("20")


def test_headers_are_found_in_any_case() -> None:
    world = World()
    assert world.send("GET", "/v1/jobs", key=None, Authorization=f"bearer {world.key_text}").status == 200


@pytest.mark.parametrize("why", ["unknown", "wrong secret", "revoked", "expired"])
def test_why_a_key_is_not_valid_stands_in_the_log_and_in_no_answer(why: str, caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    text = world.mint("acme", expires_at=Instant(world.clock.now() + MINUTE))
    key_id = world.key_of(text).key_id
    if why == "unknown":
        key_id = "0" * 12
        text = text.replace(text.split("_")[1], key_id)
    elif why == "wrong secret":
        text += "x"
    elif why == "revoked":
        world.access.revoke_key(key_id, at=world.clock.now())
    else:
        world.clock.advance(MINUTE)
    caplog.clear()
    reply = world.send("GET", "/v1/jobs", key=text)
    assert (reply.status, reply.json["detail"]) == (401, "this key is not valid")
    [line] = [vars(record) for record in caplog.records]
    told = (line["action"], line["key"], line["why"], line["request_id"])
    assert told == ("key.refuse", f"key:crl_{key_id}", why, "request-1")
    assert text.split("_", 2)[2] not in str(line)
