"""Cancelling and retrying runs, and what failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.entry import Entry, single_entry
from shared.domain.instants import Instant
from shared.domain.job import Job
from shared.domain.run import Attempt, Run, RunError, RunStatus
from shared.domain.sharding import shard_of
from tests.unit.api.world import SHARD_COUNT, World

EVERY = {"every": "PT1M"}
PATH = "/v1/jobs/nightly-report"


@pytest.fixture
def world() -> World:
    return World()


def run_in(world: World, job: Job, status: RunStatus, number: int = 0, **changes: Any) -> Run:
    """A stored run of the job, in this status."""
    run = world.claimed(job, Instant(job.created_at + number))
    run = replace(
        run,
        status=status,
        ended_at=None if status.is_alive else Instant(world.clock.now() + number),
        error=RunError("http_5xx", "503"),
        attempts=(Attempt(1, run.slot, run.slot, "w"),),
        **changes,
    )
    world.tables.put_run(run, run.lease_until if status.is_alive else None)
    return run


def stored(world: World, run: Run) -> Run:
    return world.tables.runs[run.key]


def single_entries(world: World) -> list[Entry]:
    entries = [entry for of_shard in world.tables.entries.values() for entry in of_shard.values()]
    return [entry for entry in entries if entry.schedule is None and entry.run_id is not None]


def test_a_running_run_is_asked_to_end_and_goes_on(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.RUNNING)

    reply = world.send("POST", f"{PATH}/runs/{run.run_id}/cancel")

    assert (reply.status, reply.json["status"]) == (202, "running")
    assert reply.json["cancel_requested_at"] is not None
    assert stored(world, run).cancel_requested_at == world.clock.now()
    assert world.send("POST", f"{PATH}/runs/{run.run_id}/cancel").json == reply.json


def test_a_waiting_run_is_cancelled_at_once(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.WAITING)

    reply = world.send("POST", f"{PATH}/runs/{run.run_id}/cancel")

    assert (reply.status, reply.json["status"], reply.json["reason"]) == (200, "cancelled", "cancelled")
    assert stored(world, run).expires_at is not None


def test_a_run_that_has_ended_stays_as_it_is(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.SUCCEEDED)

    reply = world.send("POST", f"{PATH}/runs/{run.run_id}/cancel")

    assert (reply.status, reply.json["status"]) == (200, "succeeded")
    assert stored(world, run) == run


@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_a_run_that_is_not_there_is_not_found(world: World, action: str) -> None:
    world.create(schedule=EVERY)

    for run_id in ("20261127T013000000Z", "what", "a%20b"):
        assert world.send("POST", f"{PATH}/runs/{run_id}/{action}").status == 404


@pytest.mark.parametrize("status", [RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED, RunStatus.SKIPPED])
def test_a_run_is_retried_under_a_higher_token(world: World, status: RunStatus) -> None:
    job = world.create(schedule=EVERY)
    run = run_in(world, job, status, token=4)

    reply = world.send("POST", f"{PATH}/runs/{run.run_id}/retry")

    assert (reply.status, reply.headers["location"]) == (202, f"{PATH}/runs/{run.run_id}")
    assert (reply.json["status"], reply.json["fencing_token"], reply.json["attempt"]) == ("waiting", 5, 2)
    assert reply.json["retry_at"] is not None
    again = stored(world, run)
    assert (again.status, again.attempts_before, again.attempts) == (RunStatus.WAITING, 1, run.attempts)
    assert single_entries(world) == [single_entry(again, shard=shard_of(job.job_key, SHARD_COUNT), lane="default")]


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.RUNNING])
def test_what_succeeded_or_runs_is_not_retried(world: World, status: RunStatus) -> None:
    run = run_in(world, world.create(schedule=EVERY), status)

    reply = world.send("POST", f"{PATH}/runs/{run.run_id}/retry")

    assert (reply.status, reply.json["type"].rpartition("#")[2]) == (409, "errors-run-not-retryable")
    assert single_entries(world) == []


def test_a_retry_under_one_key_happens_once(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    path = f"{PATH}/runs/{run.run_id}/retry"

    first = world.send("POST", path, idempotency_key="k")
    second = world.send("POST", path, idempotency_key="k")

    assert (first.status, second.status) == (202, 202)
    assert first.json == second.json
    assert len(single_entries(world)) == 1


def test_a_waiting_run_is_retried_without_its_wait_and_a_second_retry_is_another_one(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.WAITING, attempt=2)
    path = f"{PATH}/runs/{run.run_id}/retry"

    assert world.send("POST", path).json["attempt"] == 2
    assert world.send("POST", path).json["fencing_token"] == 3


@pytest.mark.parametrize(("act", "status"), [("pause", 202), ("delete", 409)])
def test_a_run_of_a_paused_job_is_retried_and_one_of_a_deleted_job_is_not(world: World, act: str, status: int) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    if act == "pause":
        world.send("POST", f"{PATH}/pause")
    else:
        world.send("DELETE", PATH)

    assert world.send("POST", f"{PATH}/runs/{run.run_id}/retry").status == status


def test_failed_runs_are_listed_newest_first_and_filtered(world: World) -> None:
    job = world.create(schedule=EVERY)
    runs = [run_in(world, job, RunStatus.FAILED, number) for number in range(3)]
    run_in(world, job, RunStatus.SUCCEEDED, 3)

    page = world.send("GET", "/v1/runs", query="status=failed&limit=2").json
    assert [each["run_id"] for each in page["items"]] == [runs[2].run_id, runs[1].run_id]
    rest = world.send("GET", "/v1/runs", query=f"status=failed&cursor={page['next_cursor']}").json
    assert [each["run_id"] for each in rest["items"]] == [runs[0].run_id]
    assert world.send("GET", "/v1/runs", query="status=failed&error_type=timeout").json["items"] == []
    assert world.send("GET", "/v1/runs", query="status=failed&job_id=other").json["items"] == []
    assert world.send("GET", "/v1/runs", query="status=waiting").status == 400
    assert world.send("GET", "/v1/runs", query="since=yesterday").pointers == ["#/since"]


def test_long_runs_go_to_the_lane_that_can_bear_them(world: World) -> None:
    assert world.create(job_id="a", timeout="PT13M").lane == "default"
    assert world.create(job_id="b", timeout="PT13M1S").lane == "long"
    assert world.create(job_id="c", lane="long").lane == "long"

    reply = world.send("PATCH", "/v1/jobs/a", {"timeout": "PT1H"})
    assert (reply.status, reply.json["lane"]) == (200, "long")
    assert world.send("PATCH", "/v1/jobs/a", {"lane": "default"}).pointers == ["#/lane"]
    assert world.send("PATCH", "/v1/jobs/a", {"lane": None, "timeout": "PT1M"}).json["lane"] == "default"


def test_a_retry_policy_is_kept_as_it_was_sent(world: World) -> None:
    policy = {"max_attempts": 7, "base": "PT1S", "factor": 3, "cap": "PT10M", "max_age": "P2D"}
    words = {"retry_on": ["5xx", "ValueError"], "never_on": ["501"]}
    world.create(retry={**policy, **words})

    assert world.send("GET", PATH).json["retry"] == {**policy, **words}
    changed = world.send("PATCH", PATH, {"retry": {"max_attempts": 1}}).json["retry"]
    assert changed == {**policy, **words, "max_attempts": 1}
