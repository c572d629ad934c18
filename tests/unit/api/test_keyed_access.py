"""Keys, signing keys and grants under an Idempotency-Key: a request whose answer was lost makes nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from shared.adapters.memory import MemoryAccessStore
from shared.domain.access import ApiKey, Receipt, Scope
from shared.domain.errors import OutcomeUnknown
from shared.domain.grants import Grant
from shared.domain.instants import DAY, HOUR
from shared.domain.limits import MAX_GRANTS
from shared.domain.signing import SigningKey
from tests.unit.api.world import Reply, World

ONCE = "8e03978e-40d5-43e8-bc93-6894a57f9324"
KEYS, SIGNING_KEYS, GRANTS = "/v1/keys", "/v1/signing-keys", "/v1/grants"
BODIES: dict[str, Any] = {
    KEYS: {"scopes": ["read"], "name": "deploy"},
    SIGNING_KEYS: None,
    GRANTS: {"target_type": "http", "resource": "example.com"},
}
every_route = pytest.mark.parametrize("path", BODIES)


class LosesAnswers(MemoryAccessStore):
    """Writes, and then says that it does not know."""

    def put_key(self, key: ApiKey, *, receipt: Receipt | None = None) -> bool:
        super().put_key(key, receipt=receipt)
        raise OutcomeUnknown("access.put_key", "timed out")

    def put_signing_key(self, key: SigningKey, *, receipt: Receipt | None = None) -> bool:
        super().put_signing_key(key, receipt=receipt)
        raise OutcomeUnknown("access.put_signing_key", "timed out")

    def put_grant(self, grant: Grant, *, receipt: Receipt | None = None) -> bool:
        super().put_grant(grant, receipt=receipt)
        raise OutcomeUnknown("access.put_grant", "timed out")


class Overtaken(MemoryAccessStore):
    """Right before a write the same request arrives once more, and is carried out."""

    def __init__(self, world: World, path: str) -> None:
        super().__init__(world.tables)
        self.other: Reply | None = None
        self._world = world
        self._path = path

    def _overtake(self) -> None:
        self.other = make(self._world, self._path)

    def put_key(self, key: ApiKey, *, receipt: Receipt | None = None) -> bool:
        self._overtake()
        return super().put_key(key, receipt=receipt)

    def put_signing_key(self, key: SigningKey, *, receipt: Receipt | None = None) -> bool:
        self._overtake()
        return super().put_signing_key(key, receipt=receipt)

    def put_grant(self, grant: Grant, *, receipt: Receipt | None = None) -> bool:
        self._overtake()
        return super().put_grant(grant, receipt=receipt)


def make(world: World, path: str, key: str = ONCE, **options: Any) -> Reply:
    return world.send("POST", path, options.pop("body", BODIES[path]), idempotency_key=key, **options)


def made(world: World) -> int:
    tables = world.tables
    lists = [*tables.signing_keys.values(), *tables.grants.values()]
    # Without the key that the requests are sent with.
    return len(tables.keys) - 1 + sum(map(len, lists))


@every_route
def test_after_a_lost_answer_a_repeat_makes_no_second_one(path: str) -> None:
    world = World()
    lost = make(world, path, handler=world.process(access=LosesAnswers(world.tables)))
    assert (lost.status, made(world)) == (503, 1)
    again = make(world, path)
    assert again.status == (201 if path == GRANTS else 409), again.text
    assert made(world) == 1


@every_route
def test_of_two_at_once_one_is_made(path: str) -> None:
    world = World()
    overtaken = Overtaken(world, path)
    slower = make(world, path, handler=world.process(access=overtaken))
    assert overtaken.other is not None
    assert overtaken.other.status == 201
    assert (slower.status, made(world)) == (201 if path == GRANTS else 409, 1)
    if path == GRANTS:
        assert slower.text == overtaken.other.text


def test_a_repeat_gets_the_same_answer() -> None:
    world = World()
    first = make(world, GRANTS)
    world.clock.advance(HOUR)
    again = make(world, GRANTS)
    assert (first.status, again.status, again.text) == (201, 201, first.text)


@pytest.mark.parametrize(("path", "secret"), [(KEYS, "key"), (SIGNING_KEYS, "secret")])
def test_a_secret_is_not_shown_again_and_its_key_is_named_so_that_it_can_be_revoked(path: str, secret: str) -> None:
    world = World()
    first = make(world, path).json
    again = make(world, path)
    assert (again.status, first["key_id"] in again.json["detail"]) == (409, True)
    assert again.json["type"].endswith("#errors-made-before")
    assert first[secret] not in again.text
    assert world.send("DELETE", f"{path}/{first['key_id']}").status == 200
    assert make(world, path, "another").status == 201


@every_route
def test_another_key_of_the_owner_makes_another_request(path: str) -> None:
    world = World()
    first = make(world, path)
    other = world.mint("acme")
    before = world.contents()
    theirs = world.send("POST", path, BODIES[path], idempotency_key=ONCE, key=other)
    assert (first.status, theirs.status) == (201, 422)
    assert world.contents() == before


@pytest.mark.parametrize(("path", "member"), [(SIGNING_KEYS, "key_id"), (GRANTS, "grant_id")])
def test_what_was_deleted_since_is_not_made_again_and_not_said_to_be_there(path: str, member: str) -> None:
    world = World()
    first = make(world, path).json
    world.send("DELETE", f"{path}/{first[member]}")
    again = make(world, path)
    assert (again.status, "deleted since" in again.json["detail"]) == (409, True)
    assert made(world) == 0


@every_route
def test_the_same_idempotency_key_with_another_request_is_refused(path: str) -> None:
    world = World()
    make(world, path)
    other = next(each for each in BODIES if each != path)
    assert make(world, other).status == 422
    if path != SIGNING_KEYS:
        body = {**BODIES[path], **({"name": "other"} if path == KEYS else {"resource": "example.org"})}
        assert make(world, path, body=body).status == 422
    assert made(world) == 1


@every_route
def test_an_idempotency_key_is_free_again_after_a_day(path: str) -> None:
    world = World()
    assert make(world, path).status == 201
    world.clock.advance(DAY)
    assert make(world, path).status == 201
    assert made(world) == 2


@every_route
def test_another_idempotency_key_or_none_makes_another_one(path: str) -> None:
    world = World()
    assert make(world, path).status == 201
    assert make(world, path, "another").status == 201
    assert made(world) == 2
    world = World()
    assert [world.send("POST", path, BODIES[path]).status for _ in range(2)] == [201, 201]


def test_where_there_is_no_room_nothing_is_kept_under_the_idempotency_key() -> None:
    world = World()
    for number in range(MAX_GRANTS):
        make(world, GRANTS, f"key-{number}", body={"target_type": "http", "resource": f"h{number}.example.com"})
    refused = make(world, GRANTS)
    assert (refused.status, "at most" in refused.json["detail"]) == (409, True)
    [first, *_] = world.tables.grants["acme"]
    world.send("DELETE", f"{GRANTS}/{first.grant_id}")
    assert make(world, GRANTS).status == 201


def test_nobody_learns_of_another_owners_key_by_its_idempotency_key() -> None:
    world = World()
    theirs = make(world, SIGNING_KEYS)
    stranger = world.mint("globex", Scope.WRITE)
    ours = world.send("POST", SIGNING_KEYS, idempotency_key=ONCE, key=stranger)
    assert (ours.status, ours.json["secret"] == theirs.json["secret"]) == (201, False)
