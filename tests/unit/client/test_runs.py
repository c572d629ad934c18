from __future__ import annotations

from datetime import UTC, datetime

import pytest

from carillon.client import Client, every
from carillon.client.errors import InvalidRequest, JobNotFound, NotEnded, RunNotFound, RunNotRetryable
from shared.domain.instants import HOUR
from shared.domain.run import RunStatus
from tests.unit.api.world import World
from tests.unit.client.api import HTTP, NIGHTLY, client_of, end_run


def with_job(world: World) -> Client:
    client = client_of(world)
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP, payload={"report": "daily"})
    return client


def test_a_payload_has_the_size_of_its_text_whatever_its_letters() -> None:
    client = client_of(World())
    client.create_job(job_id="nightly", schedule=NIGHTLY, target=HTTP)
    assert client.run_now("nightly", payload="я" * 60_000)["status"] == "waiting"


def test_run_now_has_a_payload_of_its_own() -> None:
    world = World()
    client = with_job(world)
    own, jobs = client.run_now("nightly", payload={"by": "hand"}), client.run_now("nightly")
    nothing = client.run_now("nightly", payload=None)
    payloads = {run.run_id: run.payload_json for run in world.tables.runs.values()}
    assert (payloads[own["run_id"]], payloads[jobs["run_id"]], payloads[nothing["run_id"]]) == (
        '{"by":"hand"}',
        None,
        "null",
    )
    assert client.get_run("nightly", own["run_id"])["kind"] == "manual"


def test_a_paused_job_runs_when_it_is_asked_to() -> None:
    client = with_job(World())
    client.pause("nightly")
    assert client.run_now("nightly")["status"] == "waiting"


def test_runs_go_over_all_pages() -> None:
    client = with_job(World())
    made = {client.run_now("nightly")["run_id"] for _ in range(5)}
    assert {run["run_id"] for run in client.runs("nightly", page_size=2)} == made
    with pytest.raises(JobNotFound):
        next(client.runs("nothing"))


def test_a_backfill_plans_what_a_dry_run_shows() -> None:
    world = World()
    client = client_of(world)
    client.create_job(job_id="hourly", schedule=every("PT1H", anchor="2026-11-01T00:00:00Z"), target=HTTP)
    world.clock.advance(HOUR)
    since = datetime(2026, 11, 20, tzinfo=UTC)
    shown = client.backfill("hourly", since=since, until="2026-11-20T05:00:00Z", dry_run=True, limit=3)
    assert (shown["dry_run"], shown["planned"], shown["next_from"]) == (True, 3, "2026-11-20T03:00:00.000Z")
    done = client.backfill("hourly", since=since, until="2026-11-20T05:00:00Z", limit=3)
    assert (done["dry_run"], done["items"]) == (False, shown["items"])
    assert len(world.tables.runs) == 3


def test_a_run_that_waits_is_cancelled_and_retried() -> None:
    world = World()
    client = with_job(world)
    run_id = client.run_now("nightly")["run_id"]
    assert client.cancel_run("nightly", run_id)["status"] == "cancelled"
    assert client.retry_run("nightly", run_id)["status"] == "waiting"
    end_run(world, "nightly", run_id, RunStatus.SUCCEEDED)
    with pytest.raises(RunNotRetryable):
        client.retry_run("nightly", run_id)


def test_failed_runs_are_listed_and_redriven() -> None:
    world = World()
    client = with_job(world)
    run_id = client.run_now("nightly")["run_id"]
    end_run(world, "nightly", run_id, RunStatus.FAILED)
    since = datetime(2026, 11, 1, tzinfo=UTC)
    assert [run["run_id"] for run in client.failed_runs(job_id="nightly", since=since)] == [run_id]
    assert list(client.failed_runs(until=since)) == []
    assert list(client.failed_runs(group="none", tags={"team": "it"})) == []
    with pytest.raises(InvalidRequest, match="all"):
        client.redrive()
    assert client.redrive(everything=True, dry_run=True)["planned"] == 1
    assert client.redrive(group="none", tags={"team": "it"})["redriven"] == 0
    redrive = client.redrive(job_id="nightly", since=since, rate=2)
    assert [(item["run_id"], item["outcome"]) for item in redrive["items"]] == [(run_id, "redriven")]
    assert client.get_run("nightly", run_id)["status"] == "waiting"


def test_a_preview_needs_no_job() -> None:
    slots = client_of(World()).preview(NIGHTLY, count=2, after="2026-12-23T12:00:00Z")
    assert [slot["slot"] for slot in slots] == ["2026-12-24T01:30:00.000Z", "2026-12-25T01:30:00.000Z"]


def test_a_preview_ends_where_it_is_told_to() -> None:
    until = datetime(2026, 12, 24, 1, 31, tzinfo=UTC)
    slots = client_of(World()).preview(NIGHTLY, after="2026-12-23T12:00:00Z", until=until)
    assert [slot["slot"] for slot in slots] == ["2026-12-24T01:30:00.000Z"]


def test_explain_tells_of_a_slot_or_a_run() -> None:
    world = World()
    client = with_job(world)
    run_id = client.run_now("nightly")["run_id"]
    assert client.explain("nightly", run_id=run_id)["outcome"] == "waiting"
    assert client.explain("nightly", slot=datetime(2099, 1, 1, tzinfo=UTC))["reason"] == "not_planned"
    assert client.explain("nightly")["job_id"] == "nightly"


def test_a_run_is_awaited_until_it_ends() -> None:
    world = World()
    client = with_job(world)
    run_id = client.run_now("nightly")["run_id"]
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 3:
            end_run(world, "nightly", run_id, RunStatus.FAILED)

    object.__setattr__(client._connection.time, "sleep", sleep)
    assert client.wait_for_run("nightly", run_id)["status"] == "failed"
    assert looks == pytest.approx([0.25, 0.375, 0.5625])


def test_without_a_run_id_the_newest_run_is_awaited() -> None:
    world = World()
    client = with_job(world)
    end_run(world, "nightly", client.run_now("nightly")["run_id"], RunStatus.SUCCEEDED)
    world.clock.advance(1)
    newest = client.run_now("nightly")["run_id"]
    with pytest.raises(NotEnded) as caught:
        client.wait_for_run("nightly", timeout=3)
    assert caught.value.status == "waiting"
    end_run(world, "nightly", newest, RunStatus.SUCCEEDED)
    assert client.wait_for_run("nightly")["run_id"] == newest


def test_waiting_ends_at_its_timeout_exactly() -> None:
    client = with_job(World())
    with pytest.raises(NotEnded, match="has no run yet after 7 s"):
        client.wait_for_run("nightly", timeout=7)
    assert client._connection.time.monotonic() == pytest.approx(7)


def test_a_run_of_a_slot_to_come_is_awaited_and_a_job_that_is_not_there_is_not() -> None:
    world = World()
    client = with_job(world)
    with pytest.raises(NotEnded):
        client.wait_for_run("nightly", "20261130T013000000Z", timeout=1)
    with pytest.raises(JobNotFound):
        client.wait_for_run("nothing")
    with pytest.raises(RunNotFound):
        client.get_run("nightly", "20261130T013000000Z")
