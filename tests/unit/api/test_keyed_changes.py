"""A request under an Idempotency-Key is carried out once: also one that found nothing to do, or only some of it."""

from __future__ import annotations

from typing import Any

import pytest

from shared.adapters.memory import MemoryJobStore, MemoryRunStore
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import DAY, HOUR, MINUTE, Instant, to_rfc3339
from shared.domain.job import JobState
from shared.domain.keys import RunKey
from shared.domain.run import RunStatus
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import CRON, HTTP, Reply, World

ONCE = "8e03978e-40d5-43e8-bc93-6894a57f9324"
JOB_PATH = "/v1/jobs/nightly-report"
ACTIVE, PAUSED, CANCELLED = JobState.ACTIVE, JobState.PAUSED, JobState.CANCELLED


def send(world: World, path: str, body: object = None, method: str = "POST", **options: Any) -> Reply:
    world.clock.advance(MINUTE)
    return world.send(method, path, body, idempotency_key=ONCE, **options)


def states(world: World) -> dict[str, JobState]:
    return {job.job_id: job.state for job in world.tables.jobs.values()}


@pytest.mark.parametrize(
    ("method", "path", "body", "undone_by"),
    [
        ("POST", f"{JOB_PATH}/pause", None, ("POST", f"{JOB_PATH}/resume", None)),
        ("PATCH", JOB_PATH, {"name": "other"}, ("PATCH", JOB_PATH, {"name": "Nightly report"})),
        ("POST", "/v1/jobs:pause", {"group": "billing"}, ("POST", f"{JOB_PATH}/resume", None)),
    ],
)
@pytest.mark.parametrize("is_done_before", [False, True])
def test_a_repeat_does_not_undo_what_others_did_since(
    method: str, path: str, body: object, undone_by: tuple[str, str, object], *, is_done_before: bool
) -> None:
    world = World()
    world.create(group="billing")
    if is_done_before:
        world.send(method, path, body)
    first = send(world, path, body, method)
    world.clock.advance(MINUTE)
    assert world.send(*undone_by).status == 200
    before = world.contents()
    again = send(world, path, body, method)
    assert (first.status, again.status) == (200, 200)
    assert world.contents() == before


def test_the_key_of_a_request_that_had_nothing_to_do_is_used() -> None:
    world = World()
    world.create(state="paused")
    assert send(world, f"{JOB_PATH}/pause").status == 200
    assert send(world, f"{JOB_PATH}/resume").status == 422
    world.clock.advance(DAY)
    assert send(world, f"{JOB_PATH}/resume").status == 200


def grouped(*job_ids: str) -> World:
    world = World()
    for job_id in job_ids:
        world.create(job_id=job_id, group="billing", schedule={"every": "PT1H"})
    return world


def test_a_change_of_a_group_is_about_the_jobs_that_were_in_it() -> None:
    world = grouped("a", "b")
    body = {"group": "billing"}
    first = send(world, "/v1/jobs:pause", body)
    assert (first.json["changed"], states(world)) == (2, {"a": PAUSED, "b": PAUSED})
    world.create(job_id="c", group="billing")
    world.send("POST", "/v1/jobs/a/resume")
    again = send(world, "/v1/jobs:pause", body)
    assert (again.json["changed"], [item["job_id"] for item in again.json["items"]]) == (0, ["a", "b"])
    assert states(world) == {"a": ACTIVE, "b": PAUSED, "c": ACTIVE}
    assert send(world, "/v1/jobs:resume", body).status == 422


def test_a_change_of_a_group_that_died_on_the_way_is_finished_by_its_repeat() -> None:
    world = grouped("a", "b", "c")

    class DiesAtTheSecond(MemoryJobStore):
        writes = 0

        def write(self, change: JobWrite) -> WriteOutcome:
            self.writes += 1
            if self.writes > 1:
                raise OutcomeUnknown("jobs.write", "died")
            return super().write(change)

    body = {"group": "billing"}
    send(world, "/v1/jobs:pause", body, handler=world.process(jobs=DiesAtTheSecond(world.tables)))
    assert list(states(world).values()).count(PAUSED) == 1
    world.send("POST", "/v1/jobs/a/resume")
    again = send(world, "/v1/jobs:pause", body)
    assert (again.json["changed"], states(world)) == (2, {"a": ACTIVE, "b": PAUSED, "c": PAUSED})


def test_a_cancelled_job_of_a_group_that_was_made_anew_since_stays() -> None:
    world = grouped("a")
    send(world, "/v1/jobs:cancel", {"group": "billing"})
    assert states(world) == {"a": CANCELLED}
    world.clock.advance(MINUTE)
    world.create(job_id="a", group="billing")
    before = world.contents()
    again = send(world, "/v1/jobs:cancel", {"group": "billing"})
    assert [item["outcome"] for item in again.json["items"]] == ["already_ended"]
    assert world.contents() == before


def backfill(world: World, since: Instant, **options: Any) -> Reply:
    return send(world, f"{JOB_PATH}/backfills", {"from": to_rfc3339(since)}, **options)


def test_a_backfill_plans_nothing_anew_that_was_cancelled_since() -> None:
    world = World()
    job = world.create(schedule={"cron": "0 * * * *"})
    since = Instant(world.clock.now() - 3 * HOUR)
    first = backfill(world, since)
    assert (first.status, first.json["planned"]) == (202, 3)
    run_id = first.json["items"][1]["run_id"]
    assert world.send("POST", f"{JOB_PATH}/runs/{run_id}/cancel").status == 200
    before = world.contents()
    # What has become a slot of the past since is none of it.
    world.clock.advance(2 * HOUR)
    again = backfill(world, since)
    assert (again.status, again.json) == (202, first.json)
    assert world.contents() == before
    run = world.runs.get(RunKey(job.job_key, run_id))
    assert run is not None
    assert run.status is RunStatus.CANCELLED


def test_a_backfill_that_died_on_the_way_is_finished_by_its_repeat() -> None:
    world = World()
    world.create(schedule={"cron": "0 * * * *"})
    since = Instant(world.clock.now() - 3 * HOUR)

    class DiesAtTheSecond(MemoryRunStore):
        plans = 0

        def plan(self, run: Any, entry: Any, **options: Any) -> Any:
            self.plans += 1
            if self.plans > 1:
                raise OutcomeUnknown("runs.plan", "died")
            return super().plan(run, entry, **options)

    lost = backfill(world, since, handler=world.process(runs=DiesAtTheSecond(world.tables)))
    assert (lost.status, len(world.tables.runs)) == (503, 1)
    world.clock.advance(2 * HOUR)
    again = backfill(world, since)
    assert (again.status, again.json["planned"], len(world.tables.runs)) == (202, 3, 3)


def test_a_slot_that_was_skipped_since_is_not_planned_by_a_repeat() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1H"})
    world.clock.advance(90 * MINUTE)
    slot = Instant(job.from_at + HOUR)
    first = backfill(world, slot)
    assert [item["outcome"] for item in first.json["items"]] == ["not_settled"]
    run_of(world, job, slot, RunStatus.SKIPPED)
    before = world.contents()
    assert backfill(world, slot).json == first.json
    assert world.contents() == before


def test_an_erasure_spares_what_was_made_since_it_was_asked_for_first() -> None:
    world = World()
    theirs = world.mint("globex")
    for job_id in ("a", "b", "c"):
        body = {"job_id": job_id, "schedule": CRON, "target": HTTP}
        assert world.send("POST", "/v1/jobs", body, key=theirs).status == 201
    first = send(world, "/v1/owners/globex/erase")
    assert (first.json["jobs"], first.json["keys"], first.json["is_done"]) == (3, 1, True)
    assert set(states(world).values()) == {CANCELLED}
    world.clock.advance(MINUTE)
    theirs = world.mint("globex")
    body = {"job_id": "a", "schedule": CRON, "target": HTTP}
    assert world.send("POST", "/v1/jobs", body, key=theirs).status == 201
    assert world.send("POST", "/v1/signing-keys", key=theirs).status == 201
    before = world.contents()
    again = send(world, "/v1/owners/globex/erase")
    assert (again.status, again.json["jobs"], again.json["keys"]) == (200, 0, 0)
    assert world.contents() == before


def test_a_run_that_was_retried_since_is_not_cancelled_by_a_repeat() -> None:
    world = World()
    world.create()
    run_id = world.send("POST", f"{JOB_PATH}/runs").json["run_id"]
    path = f"{JOB_PATH}/runs/{run_id}"
    first = send(world, f"{path}/cancel")
    assert (first.status, first.json["status"]) == (200, "cancelled")
    assert world.send("POST", f"{path}/retry").status == 202
    before = world.contents()
    again = send(world, f"{path}/cancel")
    assert (again.status, again.json["status"]) == (202, "waiting")
    assert world.contents() == before
    other = world.send("POST", f"{JOB_PATH}/runs").json["run_id"]
    assert send(world, f"{JOB_PATH}/runs/{other}/cancel").status == 422
