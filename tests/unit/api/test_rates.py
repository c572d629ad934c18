from __future__ import annotations

from typing import Any

import pytest

from functions.api.rates import LOTS
from functions.api.room import BELIEVED_SECONDS, BELIEVED_SECONDS_WHEN_FULL
from functions.api.settings import ApiSettings
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND
from shared.domain.limits import REQUEST_WINDOW_MS
from tests.unit.api.world import JOB, World

#: 100 requests in a window, by lots of two.
SLOW = ApiSettings(requests_per_second=10)


def admitted(world: World, count: int, key: str = "") -> int:
    return [world.send("GET", "/v1/jobs", key=key).status for _ in range(count)].count(200)


def test_an_owner_gets_a_windows_requests_and_then_is_told_when_to_come_again() -> None:
    world = World(settings=SLOW)
    world.clock.advance(3_500)
    assert admitted(world, 120) == 100
    reply = world.send("GET", "/v1/jobs")
    assert (reply.status, reply.headers["retry-after"]) == (429, "7")
    assert reply.headers["content-type"] == "application/problem+json"
    world.clock.advance(REQUEST_WINDOW_MS - 3_501)
    assert admitted(world, 1) == 0
    world.clock.advance(1)
    assert admitted(world, 100) == 100


def test_the_keys_of_an_owner_share_its_requests_and_owners_do_not() -> None:
    world = World(settings=SLOW)
    admitted(world, 60)
    assert admitted(world, 60, world.mint("acme")) == 40
    assert admitted(world, 1, world.mint("globex")) == 1


def test_what_an_admin_does_for_an_owner_is_counted_as_the_admins() -> None:
    world = World(settings=SLOW)
    admin = world.mint("operators")
    for _ in range(100):
        assert world.send("GET", "/v1/jobs", query="owner_id=acme", key=admin).status == 200
    assert world.send("GET", "/v1/jobs", query="owner_id=acme", key=admin).status == 429
    assert admitted(world, 100) == 100


def test_many_processes_together_admit_no_more_than_there_is() -> None:
    world = World(settings=SLOW)
    handlers = [world.process() for _ in range(10)]
    replies = [world.send("GET", "/v1/jobs", handler=handler).status for _ in range(20) for handler in handlers]
    assert replies.count(200) == 100


def test_one_write_serves_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    leases: list[int] = []
    lease = world.access.lease_requests

    def counted(*args: Any, **options: Any) -> Any:
        leases.append(options["count"])
        return lease(*args, **options)

    monkeypatch.setattr(world.access, "lease_requests", counted)
    admitted(world, 150)
    assert leases == [5_000 // LOTS] * 2


def test_a_refused_owner_costs_no_more_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(settings=SLOW)
    admitted(world, 101)
    monkeypatch.setattr(world.access, "lease_requests", lambda *_args, **_kw: pytest.fail("asked again"))
    assert admitted(world, 10) == 0


def test_when_requests_cannot_be_counted_they_are_admitted_and_an_operator_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(settings=SLOW)

    def fail(*_args: object, **_options: object) -> bool:
        raise StoreThrottled("access.lease_requests", "too fast")

    monkeypatch.setattr(world.access, "lease_requests", fail)
    assert admitted(world, 3) == 3
    assert {vars(record)["action"] for record in caplog.records} == {"request.fail"}


def test_who_is_not_known_takes_nothing_from_who_is() -> None:
    world = World(settings=SLOW)
    for _ in range(200):
        world.send("GET", "/v1/jobs", key="crl_0123456789ab_nonsense")
    assert admitted(world, 100) == 100


def test_an_owner_has_room_for_so_many_jobs() -> None:
    world = World(settings=ApiSettings(jobs_per_owner=3))
    statuses = [world.send("POST", "/v1/jobs", {**JOB, "job_id": f"job-{number}"}).status for number in range(5)]
    assert statuses == [201, 201, 201, 409, 409]
    assert world.send("PUT", "/v1/jobs/job-9", {**JOB, "job_id": None}).status == 409
    assert world.send("PUT", "/v1/jobs/job-1", {**JOB, "job_id": None, "payload": 2}).status == 200
    assert world.send("POST", "/v1/jobs", {**JOB, "job_id": "theirs"}, key=world.mint("globex")).status == 201


def test_room_that_was_made_is_noticed() -> None:
    world = World(settings=ApiSettings(jobs_per_owner=1))
    world.create(job_id="old")
    world.clock.advance(int(BELIEVED_SECONDS * SECOND))
    assert world.send("POST", "/v1/jobs", {**JOB, "job_id": "new"}).status == 409
    del world.tables.jobs["acme/old"]
    world.clock.advance(int(BELIEVED_SECONDS_WHEN_FULL * SECOND))
    assert world.send("POST", "/v1/jobs", {**JOB, "job_id": "new"}).status == 201
