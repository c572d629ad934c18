from __future__ import annotations

import pytest

from carillon.client import in_
from carillon.client.job_documents import NewJob
from functions.api import batches
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, client_of


def new_job(number: int) -> NewJob:
    return {"job_id": f"job-{number}", "schedule": NIGHTLY, "target": HTTP}


def test_more_than_a_hundred_jobs_go_in_several_requests() -> None:
    world = World()
    items = list(client_of(world).create_jobs(map(new_job, range(205))))
    assert [item["job_id"] for item in items] == [f"job-{number}" for number in range(205)]
    assert {item["status"] for item in items} == {201}
    assert len(world.tables.jobs) == 205


def test_large_jobs_go_in_requests_that_the_api_takes() -> None:
    world = World()
    large = [{**new_job(number), "payload": "x" * 100_000} for number in range(50)]
    items = list(client_of(world).create_jobs(large))  # type: ignore[arg-type]
    assert {item["status"] for item in items} == {201}
    assert len(world.tables.jobs) == 50


def test_one_that_is_refused_does_not_hinder_the_others() -> None:
    good, bad = new_job(1), {**new_job(2), "schedule": in_("tomorrow")}
    first, second = client_of(World()).create_jobs([good, bad])  # type: ignore[list-item]
    assert (first["status"], second["status"]) == (201, 400)
    assert second["problem"]["errors"][0]["pointer"] == "#/schedule/in"


def test_what_there_was_no_time_for_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request begins nothing; its repeat has time, and makes each job once."""
    world = World()
    client = client_of(world)
    monkeypatch.setattr(batches, "BEGUN_WITHIN_SECONDS", 0.0)
    sleep = client._connection.time.sleep

    def rest(seconds: float) -> None:
        monkeypatch.setattr(batches, "BEGUN_WITHIN_SECONDS", 20.0)
        sleep(seconds)

    object.__setattr__(client._connection.time, "sleep", rest)
    items = list(client.create_jobs([new_job(1), {"schedule": NIGHTLY, "target": HTTP}]))
    assert [item["status"] for item in items] == [201, 201]
    assert len(world.tables.jobs) == 2


def test_a_group_is_paused_resumed_and_cancelled_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    client = client_of(world)
    for number in range(5):
        client.create_job(job_id=f"job-{number}", schedule=NIGHTLY, target=HTTP, group="night", tags={"n": "1"})
    client.create_job(job_id="other", schedule=NIGHTLY, target=HTTP)
    page_of = world.jobs.list_of_owner
    monkeypatch.setattr(
        type(world.jobs), "list_of_owner", lambda _, *args, **options: page_of(*args, **{**options, "limit": 2})
    )
    assert [item["state"] for item in client.pause_jobs(group="night")] == ["paused"] * 5
    assert [item["state"] for item in client.resume_jobs(tags={"n": "1"})] == ["active"] * 5
    cancelled = client.cancel_jobs(group="night", tags={"n": "1"})
    assert [item["outcome"] for item in cancelled] == ["cancelled_before_fire"] * 5
    assert client.get_job("other")["state"] == "active"
