"""Two owners share nothing: for every route there is, a stranger sends what works for the owner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from functions.api.resolving import routes_of
from shared.domain.access import Scope
from shared.domain.run import RunStatus
from tests.unit.api.prepared import RUN_ID, SECRET, Example, examples, of_owner, prepared
from tests.unit.api.world import JOB, World, quoted

SCOPED = [each for each in examples() if each.route.scope is not None]
ADMIN = {each.operation.name for each in SCOPED if each.route.scope is Scope.ADMIN}
#: What a stranger gets for the owner's request; a route that is not here fails.
EXPECTED = {
    # Ids are each owner's own, so these make or find things of the stranger's.
    **dict.fromkeys(["createJob", "createKey", "createSigningKey", "putJob"], 201),
    **dict.fromkeys(
        [
            "createJobs", "listJobs", "pauseJobs", "resumeJobs", "cancelJobs", "previewSchedule", "listKeys",
            "listSigningKeys", "listGrants", "listFailedRuns",
        ],
        200,
    ),
    "redriveRuns": 202,
    **dict.fromkeys(
        [
            "getJob", "patchJob", "cancelJob", "pauseJob", "resumeJob", "explainJob", "runJob", "backfillJob",
            "listRuns", "getRun", "cancelRun", "retryRun", "revokeKey", "deleteSigningKey",
        ],
        404,
    ),
    **dict.fromkeys(
        ["createGrant", "deleteGrant", "showFleet", "setFiring", "eraseOwner"],
        403,
    ),
}  # fmt: skip


def test_every_route_is_tried_by_a_stranger() -> None:
    """Red: a route is new. Add what a stranger gets for the owner's request to EXPECTED, and an example of it."""
    table = {(route.method, route.path) for route in routes_of(World().backend()) if route.scope is not None}
    tried = {(each.route.method, each.route.path) for each in SCOPED}
    assert tried == table
    assert set(EXPECTED) == {each.operation.name for each in SCOPED}


@pytest.mark.parametrize("example", SCOPED, ids=str)
def test_a_stranger_neither_sees_nor_changes_what_an_owner_has(example: Example) -> None:
    world = prepared()
    stranger = world.mint("globex", Scope.READ, Scope.WRITE)
    before = of_owner(world, "acme")
    reply = example.send(world, key=stranger)
    assert reply.status == EXPECTED[example.operation.name], reply.text
    assert SECRET not in reply.text
    assert of_owner(world, "acme") == before


@pytest.mark.parametrize("example", [each for each in SCOPED if EXPECTED[str(each)] == 404], ids=str)
def test_a_stranger_cannot_tell_what_an_owner_has_from_what_nobody_has(example: Example) -> None:
    there, nowhere = prepared(), World()
    replies = [example.send(world, key=world.mint("globex", Scope.READ, Scope.WRITE)) for world in (there, nowhere)]
    assert [reply.status for reply in replies] == [404, 404]
    assert replies[0].text == replies[1].text
    assert replies[0].headers == replies[1].headers


@pytest.mark.parametrize("example", [each for each in SCOPED if each.route.method == "GET"], ids=str)
def test_a_strangers_list_is_empty(example: Example) -> None:
    world = prepared()
    reply = example.send(world, key=world.mint("globex", Scope.READ))
    if reply.status == 200 and example.operation.name != "listKeys":
        assert reply.json["items"] == []


@pytest.mark.parametrize("example", SCOPED, ids=str)
def test_only_an_admin_acts_on_the_things_of_another_owner(example: Example) -> None:
    world = prepared()
    before = world.contents()
    assert example.route.scope is not None
    stranger = world.mint("globex", *(set(Scope) - {Scope.ADMIN}))
    before = world.contents()
    reply = example.send(world, key=stranger, query="owner_id=acme")
    assert reply.status == 403, reply.text
    assert world.contents() == before


@pytest.mark.parametrize("example", SCOPED, ids=str)
def test_an_admin_of_another_owner_does_what_the_owner_can(example: Example) -> None:
    world = prepared()
    query = example.query if "owner_id" in example.query else f"owner_id=acme&{example.query}"
    reply = example.send(world, key=world.mint("operators"), query=query)
    assert reply.status == example.operation.status, reply.text


@pytest.mark.parametrize("example", [each for each in SCOPED if "cursor" in each.route.query], ids=str)
def test_a_cursor_of_an_owner_is_of_no_use_to_another(example: Example) -> None:
    world = prepared()
    for number in range(3):
        world.create(job_id=f"more-{number}")
        world.send("POST", "/v1/jobs/nightly-report/runs", {})
        [failed, *_] = [run for run in world.tables.runs.values() if run.status is RunStatus.FAILED]
        world.tables.put_run(replace(failed, run_id=f"{RUN_ID}-{number}"), None)
        world.clock.advance(1)
    cursor = example.send(world, query="limit=1").json["next_cursor"]
    stranger = world.mint("globex")
    world.send("POST", "/v1/jobs", JOB, key=stranger)
    reply = example.send(world, key=stranger, query=f"cursor={quoted(cursor)}")
    assert (reply.status, reply.pointers) == (400, ["#/cursor"])


def test_what_an_admin_does_for_an_owner_is_recorded_as_the_admins() -> None:
    world = prepared()
    admin = world.mint("operators")
    world.send("POST", "/v1/jobs/nightly-report/pause", key=admin, query="owner_id=acme")
    assert world.job().updated_by == f"key:crl_{world.key_of(admin).key_id}"


@pytest.mark.parametrize("owner_id", ["", "a/b", "a#b", "a b", "a" * 65, "ü", "a%00"])
def test_what_is_no_owner_id_is_refused(owner_id: str) -> None:
    reply = prepared().send("GET", "/v1/jobs", query=f"owner_id={owner_id}")
    assert reply.status == 400
