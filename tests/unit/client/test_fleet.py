from __future__ import annotations

import pytest

from carillon.client.errors import Forbidden
from functions.api import owners
from shared.domain.access import Scope
from tests.unit.api.world import SHARD_COUNT, World
from tests.unit.client.api import HTTP, NIGHTLY, client_of, end_run


def test_the_brake_is_seen_in_the_fleet() -> None:
    client = client_of(World())
    assert client.fleet()["firing"] is True
    client.set_firing(on=False)
    fleet = client.fleet()
    assert (fleet["firing"], fleet["shard_count"]) == (False, SHARD_COUNT)


def test_who_is_no_admin_sees_no_fleet() -> None:
    world = World()
    with pytest.raises(Forbidden):
        client_of(world, key=world.mint("acme", Scope.READ)).fleet()


def test_health_and_the_description_need_no_key_and_have_no_owner() -> None:
    stranger = client_of(World(), key=None, owner="acme")
    assert stranger.health()["version"] == "1.2.3"
    assert stranger.openapi()["openapi"].startswith("3.1")


def test_an_owner_is_erased_in_as_many_requests_as_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what one pass over the jobs leaves of their runs."""
    world = World()
    theirs = client_of(world, owner="other")
    for number in range(5):
        theirs.create_job(job_id=f"job-{number}", schedule=NIGHTLY, target=HTTP)
        for _ in range(3):
            end_run(world, f"job-{number}", theirs.run_now(f"job-{number}")["run_id"], owner="other")
    world.mint("other", Scope.READ)
    monkeypatch.setattr(owners, "JOBS_OF_A_CALL", 2)
    monkeypatch.setattr(owners, "RUNS_OF_A_CALL", 4)
    assert client_of(world).erase_owner("other") == {"jobs": 5, "runs": 15, "keys": 1, "is_done": True}
    assert world.tables.runs == {}
