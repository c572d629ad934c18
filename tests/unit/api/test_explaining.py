from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.api.explaining import SENTENCES
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import RunKey, run_id_of
from shared.domain.run import Attempt, RunError, RunStatus
from shared.domain.schedules import Gap
from shared.ports import Completion
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import World

PATH = "/v1/jobs/nightly-report"


def explained(world: World, **query: str) -> Any:
    reply = world.send("GET", f"{PATH}/explain", query="&".join(f"{name}={value}" for name, value in query.items()))
    assert reply.status == 200, reply.text
    return reply.json


def why(world: World, slot: Instant | None = None) -> tuple[str, str | None]:
    found = explained(world, **({} if slot is None else {"slot": to_rfc3339(slot)}))
    assert found["reason"] is None or found["detail"]
    assert "{" not in found["detail"]
    return found["outcome"], found["reason"]


@pytest.fixture
def world() -> World:
    """A job that fires each minute, and a node that has settled all of it."""
    world = World()
    world.create(schedule={"every": "PT1M"})
    now = world.clock.advance(2 * MINUTE + SECOND)
    world.own_shards("node-1", watermark=now)
    return world


def slot_of(world: World, minute: int) -> Instant:
    return Instant(world.job().from_at + minute * MINUTE)


def test_a_run_is_told_step_by_step_with_its_drift(world: World) -> None:
    job = world.job()
    run = run_of(world, job, slot_of(world, 1))
    world.tables.put_run(
        replace(
            run,
            status=RunStatus.SUCCEEDED,
            worker_id="worker-1",
            enqueued_at=Instant(run.slot - 300),
            received_at=Instant(run.slot - 200),
            claimed_at=Instant(run.slot - 100),
            started_at=Instant(run.slot + 4),
            ended_at=Instant(run.slot + 50),
        ),
        None,
    )
    found = explained(world, slot=to_rfc3339(run.slot))
    assert (found["outcome"], found["run_id"]) == ("ran", run.run_id)
    assert found["drift_ms"] == {"total": 4, "dispatch": 0, "queue": 0, "claim": 0, "start": 4}
    steps = {step["step"]: step for step in found["steps"]}
    assert list(steps) == [
        "created", "changed", "entry", "shard", "dispatched", "received", "claimed", "started", "ended",
    ]  # fmt: skip
    assert steps["created"]["at"] == "2026-11-27T00:00:00.000Z"
    assert (steps["entry"]["kind"], steps["shard"]["owner"]) == ("recurring", "node-1")
    assert (steps["claimed"]["worker_id"], steps["claimed"]["fencing_token"]) == ("worker-1", 1)
    assert (steps["started"]["at"], steps["ended"]["status"]) == ("2026-11-27T00:01:00.004Z", "succeeded")
    assert explained(world, run_id=run.run_id) == found


def test_a_run_that_is_still_going_says_so(world: World) -> None:
    run = run_of(world, world.job(), slot_of(world, 2))
    assert explained(world, run_id=run.run_id)["outcome"] == "running"


def test_a_run_between_two_attempts_says_when_the_next_one_is(world: World) -> None:
    run = run_of(world, world.job(), slot_of(world, 2))
    until = Instant(run.slot + HOUR)
    attempt = Attempt(1, run.slot, run.slot, "worker-1")
    world.tables.put_run(replace(run, status=RunStatus.WAITING, lease_until=until, attempts=(attempt,)), until)
    found = explained(world, run_id=run.run_id)
    assert (found["outcome"], found["reason"]) == ("waiting", "retry")
    assert to_rfc3339(until) in found["detail"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("overlap", "place"),
        ("owner_maximum", "owner_maximum"),
        ("receiver_busy", "receiver_busy"),
        ("handed_back", "handed_back"),
        ("unreadable_job", "unreadable_job"),
    ],
)
def test_a_run_that_waits_before_its_start_says_for_what(world: World, reason: str, told: str) -> None:
    run = run_of(world, world.job(), slot_of(world, 2))
    waiting = replace(run, status=RunStatus.WAITING, reason=reason, lease_until=Instant(run.slot + HOUR))
    world.tables.put_run(waiting, waiting.lease_until)
    found = explained(world, run_id=run.run_id)
    assert (found["outcome"], found["reason"]) == ("waiting", told)


@pytest.mark.parametrize(
    ("reason", "told"),
    [("misfire", "misfired"), ("overlap", "overlap"), ("paused", "paused"), ("superseded", "superseded")],
)
def test_a_slot_that_was_skipped_says_why(world: World, reason: str, told: str) -> None:
    run = run_of(world, world.job(), slot_of(world, 2))
    world.tables.put_run(replace(run, status=RunStatus.SKIPPED, reason=reason), None)
    assert why(world, run.slot) == ("did_not_run", told)


def test_a_run_that_was_cancelled_between_its_attempts_ran_and_the_revision_of_its_start_is_named(world: World) -> None:
    run = run_of(world, world.job(), slot_of(world, 2))
    attempts = (Attempt(1, run.slot, run.slot, "worker-1", RunError("http_5xx", "503"), revision=4),)
    row = replace(run, status=RunStatus.CANCELLED, started_at=run.slot, revision=4, attempts=attempts)
    world.tables.put_run(row, None)

    found = explained(world, run_id=run.run_id)

    assert found["outcome"] == "ran"
    assert [step["revision"] for step in found["steps"] if step["step"] == "started"] == [4]


def test_a_slot_inside_a_gap_was_misfired(world: World) -> None:
    first, last = slot_of(world, 1), slot_of(world, 2)
    run = replace(run_of(world, world.job(), first), run_id=f"{run_id_of(first)}-{run_id_of(last)}", reason="misfire")
    world.tables.put_run(replace(run, status=RunStatus.SKIPPED, gap=Gap(first, last, 2)), None)
    world.tables.remove_run(replace(run, run_id=run_id_of(first)).key)
    assert why(world, last) == ("did_not_run", "misfired")
    assert why(world, first) == ("did_not_run", "misfired")


def test_a_slot_that_is_settled_and_has_no_run_waits_in_its_lane(world: World) -> None:
    assert why(world, slot_of(world, 2)) == ("waiting", "in_lane")
    assert "default" in explained(world)["detail"]


def test_a_slot_behind_the_watermark_is_with_its_scheduler(world: World) -> None:
    world.clock.advance(MINUTE)
    assert why(world, slot_of(world, 3)) == ("waiting", "not_dispatched")
    assert "node-1" in explained(world, slot=to_rfc3339(slot_of(world, 3)))["detail"]


def test_a_slot_whose_shard_nobody_owns_says_so() -> None:
    world = World()
    world.create(schedule={"every": "PT1M"})
    world.clock.advance(2 * MINUTE)
    assert why(world) == ("waiting", "no_owner")


def test_the_brake_is_told_before_anything_else_that_may_be_missing(world: World) -> None:
    world.send("PUT", "/v1/fleet/firing", {"on": False})
    assert why(world, slot_of(world, 2)) == ("waiting", "brake")
    assert why(world, slot_of(world, 9)) == ("not_due", "brake")


def test_a_slot_to_come_is_not_due(world: World) -> None:
    assert why(world, slot_of(world, 3)) == ("not_due", "future")


def test_of_a_job_that_changed_the_slots_before_are_superseded(world: World) -> None:
    slot = slot_of(world, 1)
    world.send("PATCH", PATH, {"schedule": {"every": "PT5M"}})
    assert why(world, slot) == ("did_not_run", "superseded")


@pytest.mark.parametrize(("word", "reason"), [("pause", "paused"), ("cancel", "cancelled")])
def test_a_job_that_starts_nothing_says_so(world: World, word: str, reason: str) -> None:
    if word == "pause":
        world.send("POST", f"{PATH}/pause")
    else:
        world.send("DELETE", PATH)
    schedule = world.job().schedule
    assert why(world, Instant(schedule.anchor + 5 * MINUTE)) == ("did_not_run", reason)  # type: ignore[union-attr]


def test_an_excluded_date_and_an_instant_that_is_no_slot_are_told_apart() -> None:
    world = World()
    world.create(schedule={"cron": "0 9 * * *", "exclude": [{"date": "2026-12-25"}]})
    assert explained(world, slot="2026-12-25T09:00:00Z")["reason"] == "excluded"
    assert explained(world, slot="2026-12-25T10:00:00Z")["reason"] == "not_planned"


def completed_job(world: World) -> Job:
    job = world.create(schedule={"in": "PT5S"})
    world.clock.advance(MINUTE)
    world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + HOUR))])
    return job


def test_a_completed_job_without_a_run_has_no_record_of_it() -> None:
    world = World()
    completed_job(world)
    assert why(world) == ("did_not_run", "no_record")


def test_a_single_fire_whose_entry_is_there_is_with_its_scheduler() -> None:
    world = World()
    world.create(schedule={"in": "PT5S"})
    now = world.clock.advance(MINUTE)
    world.own_shards("node-1", watermark=now)
    assert why(world) == ("waiting", "not_dispatched")
    for shard in world.tables.entries.values():
        shard.clear()
    assert why(world) == ("waiting", "in_lane")


def test_a_run_asked_for_by_hand_is_explained_by_its_id(world: World) -> None:
    run_id = world.send("POST", f"{PATH}/runs").json["run_id"]
    found = explained(world, run_id=run_id)
    assert (found["run_id"], found["outcome"], found["reason"]) == (run_id, "waiting", "not_dispatched")
    world.entry_store.delete([entry.key for entry in world.entries() if entry.run_id == run_id])
    assert explained(world, run_id=run_id)["reason"] == "in_lane"


def test_who_names_no_slot_is_told_of_the_one_that_should_have_run() -> None:
    world = World()
    job = world.create(schedule={"every": "PT1M"})
    assert explained(world)["slot"] == "2026-11-27T00:01:00.000Z"
    world.clock.advance(90 * SECOND)
    run = run_of(world, job, Instant(job.from_at + MINUTE), RunStatus.SUCCEEDED)
    assert explained(world)["run_id"] == run.run_id
    world.clock.advance(MINUTE)
    assert explained(world)["slot"] == "2026-11-27T00:02:00.000Z"


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("slot=soon", 400),
        ("run_id=20261127T000100000Z", 404),
        ("run_id=x%23y", 404),
        ("run_id=a&slot=2026-11-27T00:01:00Z", 400),
        ("at=now", 400),
    ],
)
def test_what_cannot_be_explained_is_refused(world: World, query: str, status: int) -> None:
    assert world.send("GET", f"{PATH}/explain", query=query).status == status


def test_every_reason_has_a_sentence() -> None:
    assert all(sentence[0].islower() for sentence in SENTENCES.values())


def test_the_last_instant_there_is_can_be_asked_for(world: World) -> None:
    assert explained(world, slot="9999-12-31T23:59:59.999Z")["outcome"]


def by_hand(world: World, status: RunStatus = RunStatus.SUCCEEDED) -> str:
    """A run asked for now, which a worker has had."""
    run_id: str = world.send("POST", f"{PATH}/runs").json["run_id"]
    run = world.runs.get(RunKey(world.job().job_key, run_id))
    assert run is not None
    now = world.clock.now()
    world.tables.put_run(replace(run, status=status, token=1, started_at=now, ended_at=now), None)
    return run_id


def test_a_run_that_was_asked_for_by_hand_is_explained_when_it_is_the_newest(world: World) -> None:
    for minute in (1, 2):
        run_of(world, world.job(), slot_of(world, minute), RunStatus.SUCCEEDED)
    run_id = by_hand(world)
    found = explained(world)
    assert (found["run_id"], found["outcome"], found["reason"]) == (run_id, "ran", None)
    assert explained(world, run_id=run_id) == found
    assert explained(world, slot=found["slot"]) == found
    # The schedule goes on.
    world.clock.advance(MINUTE)
    assert explained(world)["slot"] == to_rfc3339(slot_of(world, 3))


def test_a_run_by_hand_that_waits_is_explained_too(world: World) -> None:
    run_id = world.send("POST", f"{PATH}/runs").json["run_id"]
    found = explained(world)
    assert (found["run_id"], found["outcome"], found["reason"]) == (run_id, "waiting", "not_dispatched")


@pytest.mark.parametrize("state", ["active", "paused"])
def test_a_run_by_hand_of_a_job_whose_time_has_not_come(state: str) -> None:
    world = World()
    world.create(schedule={"at": to_rfc3339(Instant(world.clock.now() + HOUR))})
    assert explained(world)["outcome"] == "not_due"
    world.clock.advance(MINUTE)
    run_id = by_hand(world)
    if state == "paused":
        world.send("POST", f"{PATH}/pause")
    assert (explained(world)["run_id"], explained(world)["outcome"]) == (run_id, "ran")


def test_of_a_one_time_job_its_slot_is_explained_once_it_is_due_and_a_run_by_hand_behind_it() -> None:
    world = World()
    at = Instant(world.clock.now() + HOUR)
    job = world.create(schedule={"at": to_rfc3339(at)})
    by_hand(world)
    world.clock.advance(2 * HOUR)
    assert (explained(world)["slot"], explained(world)["outcome"]) == (to_rfc3339(at), "waiting")
    run = run_of(world, job, at, RunStatus.SUCCEEDED)
    assert explained(world)["run_id"] == run.run_id
    run_id = by_hand(world)
    assert explained(world)["run_id"] == run_id
