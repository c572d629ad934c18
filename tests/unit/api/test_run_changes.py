"""Cancelling and retrying runs, and what failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.memory import MemoryRunStore
from shared.domain.entry import Entry, single_entry
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.run import Attempt, Run, RunError, RunStatus
from shared.domain.sharding import shard_of
from tests.unit.api.world import JOB, SHARD_COUNT, World

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


@pytest.mark.parametrize("act", ["pause", "delete"])
def test_a_run_whose_job_starts_nothing_is_not_retried(world: World, act: str) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    if act == "pause":
        world.send("POST", f"{PATH}/pause")
    else:
        world.send("DELETE", PATH)

    assert world.send("POST", f"{PATH}/runs/{run.run_id}/retry").status == 409


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


def test_a_redrive_is_shown_before_it_is_done(world: World) -> None:
    run = run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)

    reply = world.send("POST", "/v1/redrives", {"dry_run": True})

    assert (reply.status, reply.json["planned"], reply.json["dry_run"]) == (200, 1, True)
    assert stored(world, run) == run
    assert single_entries(world) == []


def test_failed_runs_are_redriven_at_a_rate(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(3):
        run_in(world, job, RunStatus.FAILED, number)

    reply = world.send("POST", "/v1/redrives", {"rate": 2})

    assert (reply.status, reply.json["planned"], reply.json["next_cursor"]) == (202, 3, None)
    starts = sorted(entry.next_at - world.clock.now() for entry in single_entries(world))
    assert starts == [0, SECOND // 2, SECOND]
    assert {entry.lane for entry in single_entries(world)} == {"catchup"}
    assert world.send("GET", "/v1/runs", query="status=failed").json["items"] == []
    assert world.send("POST", "/v1/redrives", {}).json["planned"] == 0


def test_a_redrive_of_many_is_continued_by_its_cursor(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)

    first = world.send("POST", "/v1/redrives", {"limit": 3}).json
    second = world.send("POST", "/v1/redrives", {"limit": 3, "cursor": first["next_cursor"]}).json

    assert (first["planned"], second["planned"], second["next_cursor"]) == (3, 2, None)
    assert len(single_entries(world)) == 5


def test_the_rate_is_kept_over_all_redrives_of_an_owner(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)
    start = world.clock.now()

    world.send("POST", "/v1/redrives", {"limit": 2, "rate": 2, "dry_run": True})
    first = world.send("POST", "/v1/redrives", {"limit": 2, "rate": 2}).json
    world.clock.advance(100)
    second = world.send("POST", "/v1/redrives", {"limit": 2, "rate": 2, "cursor": first["next_cursor"]}).json
    # Another one, that goes on with nothing, and later than all that is planned.
    world.clock.advance(5 * SECOND)
    world.send("POST", "/v1/redrives", {"rate": 2})

    assert second["items"][0]["starts_at"] == to_rfc3339(Instant(start + SECOND))
    starts = sorted(entry.next_at - start for entry in single_entries(world))
    assert starts == [0, SECOND // 2, SECOND, 3 * SECOND // 2, 5 * SECOND + 100]


def test_a_redrive_that_is_sent_again_is_about_the_same_runs(world: World) -> None:
    job = world.create(schedule=EVERY)
    for number in range(5):
        run_in(world, job, RunStatus.FAILED, number)
    first = world.send("POST", "/v1/redrives", {"limit": 2}, idempotency_key="once")
    world.clock.advance(SECOND)

    again = world.send("POST", "/v1/redrives", {"limit": 2}, idempotency_key="once")

    assert (again.status, again.json) == (first.status, first.json)
    assert len(single_entries(world)) == 2
    assert world.send("POST", "/v1/redrives", {"limit": 3}, idempotency_key="once").status == 422
    assert world.send("POST", "/v1/redrives", {"limit": 2}, idempotency_key="twice").json["planned"] == 2
    assert len(single_entries(world)) == 4


def test_a_redrive_that_was_broken_off_is_completed_when_it_is_sent_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = world.create(schedule=EVERY)
    runs = [run_in(world, job, RunStatus.FAILED, number) for number in range(4)]
    plan = MemoryRunStore.plan

    def plan_one(store: MemoryRunStore, *args: Any, **options: Any) -> Any:
        if single_entries(world):
            raise StoreThrottled("runs.plan", "no more")
        return plan(store, *args, **options)

    monkeypatch.setattr(MemoryRunStore, "plan", plan_one)
    assert world.send("POST", "/v1/redrives", {"limit": 2, "rate": 2}, idempotency_key="once").status == 503
    monkeypatch.undo()
    failed_since = run_in(world, job, RunStatus.FAILED, 9)
    world.tables.runs.pop(runs[2].key)

    again = world.send("POST", "/v1/redrives", {"limit": 2, "rate": 2}, idempotency_key="once").json

    outcomes = {each["run_id"]: each["outcome"] for each in again["items"]}
    assert outcomes == {runs[3].run_id: "planned", runs[2].run_id: "changed"}
    assert stored(world, failed_since) == failed_since
    assert len(single_entries(world)) == 1


def test_owners_do_not_wait_for_each_others_redrives(world: World) -> None:
    run_in(world, world.create(schedule=EVERY), RunStatus.FAILED)
    world.send("POST", "/v1/redrives", {"rate": 0.01})
    stranger = world.mint("globex")
    body = {**JOB, "schedule": EVERY}
    assert world.send("POST", "/v1/jobs", body, key=stranger).status == 201
    run = run_in(world, world.job(owner_id="globex"), RunStatus.FAILED)

    [item] = world.send("POST", "/v1/redrives", {}, key=stranger).json["items"]

    assert (item["run_id"], item["starts_at"]) == (run.run_id, to_rfc3339(world.clock.now()))


def test_a_redrive_says_of_each_run_what_became_of_it(world: World) -> None:
    paused = world.create(job_id="paused", schedule=EVERY)
    gone = world.create(job_id="gone", schedule=EVERY)
    for job in (paused, gone):
        run_in(world, job, RunStatus.FAILED)
    world.send("POST", "/v1/jobs/paused/pause")
    world.send("DELETE", "/v1/jobs/gone")

    items = world.send("POST", "/v1/redrives", {}).json["items"]

    outcomes = {each["job_id"]: each["outcome"] for each in items}
    assert outcomes == {"paused": "job_paused", "gone": "job_ended"}


@pytest.mark.parametrize(
    ("member", "value"),
    [("rate", 0.009), ("rate", 101), ("limit", 0), ("limit", 101), ("job_id", "a b"), ("since", "x")],
)
def test_a_wrong_member_of_a_redrive_is_named(world: World, member: str, value: object) -> None:
    assert world.send("POST", "/v1/redrives", {member: value}).pointers == [f"#/{member}"]


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
