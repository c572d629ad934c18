from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.adapters.memory import MemoryRunStore
from shared.domain.entry import Entry
from shared.domain.instants import DAY, HOUR, MINUTE, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import RunKey, run_id_of
from shared.domain.limits import MAX_BACKFILL, MAX_BACKFILL_AGE_MS
from shared.domain.run import Attempt, Run, RunKind, RunStatus
from shared.domain.schedules import Gap
from shared.ports import PlanOutcome
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import CRON, Reply, World

JOB_PATH = "/v1/jobs/nightly-report"
PATH = f"{JOB_PATH}/backfills"
HOURLY = {"cron": "0 * * * *"}


def fill(world: World, since: int, until: int | None = None, **members: Any) -> Reply:
    """A range in hours from now."""
    now = world.clock.now()
    body = {"from": to_rfc3339(Instant(now + since * HOUR)), **members}
    if until is not None:
        body["to"] = to_rfc3339(Instant(now + until * HOUR))
    return world.send("POST", PATH, body)


def outcomes(reply: Reply) -> list[str]:
    return [item["outcome"] for item in reply.json["items"]]


def hourly(hours_ago: int = 0) -> tuple[World, Job]:
    """A job that was created at half past midnight, so many hours ago."""
    world = World()
    world.clock.advance(30 * MINUTE)
    job = world.create(schedule=HOURLY)
    world.clock.advance(hours_ago * HOUR)
    return world, job


def test_slots_before_the_job_are_planned_each_with_its_entry() -> None:
    world, job = hourly()
    reply = fill(world, -4, 0)
    assert (reply.status, reply.json["planned"], reply.json["next_from"]) == (202, 4, None)
    first = reply.json["items"][0]
    assert first == {"slot": "2026-11-26T21:00:00.000Z", "run_id": "20261126T210000000Z", "outcome": "planned"}
    run = world.runs.get(RunKey(job.job_key, first["run_id"]))
    assert run is not None
    assert (run.kind, run.status, run.fire_at) == (RunKind.BACKFILL, RunStatus.WAITING, world.clock.now())
    entries = [entry for entry in world.entries() if entry.kind is RunKind.BACKFILL]
    assert {entry.run_id for entry in entries} == {item["run_id"] for item in reply.json["items"]}
    assert {entry.lane for entry in entries} == {"catchup"}


def test_a_dry_run_says_the_same_and_plans_nothing() -> None:
    world, _ = hourly()
    before = world.contents()
    dry = fill(world, -4, 0, dry_run=True)
    assert (dry.status, dry.json["dry_run"], world.contents() == before) == (200, True, True)
    assert fill(world, -4, 0).json["items"] == dry.json["items"]


def test_a_repeat_plans_nothing_twice() -> None:
    world, _ = hourly()
    fill(world, -4, 0)
    before = world.contents()
    assert outcomes(fill(world, -4, 0)) == ["has_run"] * 4
    assert world.contents() == before


def test_what_the_schedulers_may_still_fire_is_left_to_them() -> None:
    world, job = hourly(3)
    # 01, 02 and 03 are live, and nobody has reported any of them.
    assert outcomes(fill(world, -5, 0)) == ["planned", "planned", "not_settled", "not_settled", "not_settled"]
    assert job.from_at == Instant(world.clock.now() - 3 * HOUR)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (RunStatus.SUCCEEDED, "has_run"),
        (RunStatus.FAILED, "has_run"),
        (RunStatus.RUNNING, "has_run"),
        (RunStatus.WAITING, "has_run"),
        (RunStatus.SKIPPED, "planned"),
        (RunStatus.CANCELLED, "planned"),
    ],
)
def test_a_slot_runs_again_only_if_it_never_started(status: RunStatus, outcome: str) -> None:
    world, job = hourly(2)
    slot = Instant(world.clock.now() - 90 * MINUTE)
    world.tables.put_run(replace(run_of(world, job, slot), status=status), None)
    assert outcomes(fill(world, -2, -1)) == [outcome]


def test_the_slots_of_a_gap_are_planned_wherever_the_range_begins() -> None:
    world, job = hourly(6)
    first, last = Instant(job.from_at + 90 * MINUTE), Instant(job.from_at + 270 * MINUTE)
    gap = Gap(first, last, 4)
    run = replace(run_of(world, job, first), run_id=f"{run_id_of(first)}-{run_id_of(last)}", status=RunStatus.SKIPPED)
    world.tables.remove_run(RunKey(job.job_key, run_id_of(first)))
    world.tables.put_run(replace(run, gap=gap, reason="misfire"), None)
    # 01 lies before the gap, 06 behind it.
    assert outcomes(fill(world, -4, 0, dry_run=True)) == ["planned", "planned", "planned", "not_settled"]
    assert outcomes(fill(world, -6, 0)) == ["not_settled", *["planned"] * 4, "not_settled"]


def test_slots_of_a_pause_are_planned_and_those_before_it_only_when_none_can_be_on_its_way() -> None:
    world, _ = hourly(2)
    world.send("POST", f"{JOB_PATH}/pause")
    world.clock.advance(3 * HOUR)
    world.send("POST", f"{JOB_PATH}/resume")
    assert outcomes(fill(world, -3, 0)) == ["planned"] * 3


def test_a_slot_whose_dispatch_may_be_on_its_way_is_planned_as_the_very_run_that_it_would_be() -> None:
    world, job = hourly()
    world.clock.advance(31 * MINUTE)
    slot = Instant(job.created_at + 30 * MINUTE)
    # The schedulers have sent it, so that `from` moves behind it.
    world.own_shards("node-1", watermark=world.clock.now())
    world.entry_store.clear_fresh([entry.key for entry in world.entries()])
    world.send("PATCH", JOB_PATH, {"schedule": {"cron": "0 * * * *", "timezone": "Europe/Berlin"}})
    reply = fill(world, -1)
    assert [(item["run_id"], item["outcome"]) for item in reply.json["items"]] == [(run_id_of(slot), "planned")]
    # The dispatch meets the row, and is no second run.
    late = replace(run_of_dispatch(job, slot), claim_id="late")
    assert world.runs.insert([late]) == [world.runs.get(late.key)]


def test_a_slot_that_is_claimed_while_it_is_planned_is_not_planned_too() -> None:
    world, job = hourly()
    slot = Instant(job.created_at - 30 * MINUTE)

    class ClaimsFirst(MemoryRunStore):
        def plan(self, run: Run, entry: Entry, **options: Any) -> PlanOutcome:
            self.insert([run_of_dispatch(job, slot)])
            return super().plan(run, entry, **options)

    handler = world.process(runs=ClaimsFirst(world.tables))
    body = {"from": to_rfc3339(slot)}
    assert outcomes(world.send("POST", PATH, body, handler=handler)) == ["has_run"]
    assert [entry for entry in world.entries() if entry.kind is RunKind.BACKFILL] == []


def test_a_skipped_slot_is_planned_in_its_own_row_under_a_higher_token() -> None:
    world, job = hourly(2)
    slot = Instant(world.clock.now() - 90 * MINUTE)
    skipped = replace(run_of(world, job, slot), status=RunStatus.SKIPPED, reason="overlap", expires_at=Instant(1))
    world.tables.put_run(skipped, None)
    assert outcomes(fill(world, -2, -1)) == ["planned"]
    run = world.runs.get(skipped.key)
    assert run is not None
    assert (run.status, run.kind, run.token) == (RunStatus.WAITING, RunKind.BACKFILL, skipped.token + 1)
    assert (run.reason, run.expires_at) == (None, None)


@pytest.mark.parametrize("status", [RunStatus.SKIPPED, RunStatus.CANCELLED])
def test_what_any_attempt_started_is_not_run_again(status: RunStatus) -> None:
    world, job = hourly(2)
    slot = Instant(world.clock.now() - 90 * MINUTE)
    ended = replace(run_of(world, job, slot), status=status)
    world.tables.put_run(replace(ended, started_at=slot), None)
    assert outcomes(fill(world, -2, -1)) == ["has_run"]
    world.tables.put_run(replace(ended, attempts=(Attempt(1, slot, None, "worker-1"),)), None)
    assert outcomes(fill(world, -2, -1)) == ["has_run"]
    # Nobody knows what a worker did that fell silent.
    world.tables.put_run(replace(ended, attempts=(Attempt(1, None, None, "worker-1"),)), None)
    assert outcomes(fill(world, -2, -1)) == ["has_run"]


def run_of_dispatch(job: Job, slot: Instant) -> Run:
    """As a worker inserts it."""
    return Run(job.job_key, run_id_of(slot), RunKind.SCHEDULED, slot, slot, RunStatus.RUNNING, job.generation)


def test_a_long_range_is_filled_by_parts() -> None:
    world, _ = hourly()
    first = fill(world, -130, 0)
    assert (len(first.json["items"]), first.json["planned"]) == (MAX_BACKFILL, MAX_BACKFILL)
    rest = world.send("POST", PATH, {"from": first.json["next_from"], "to": to_rfc3339(world.clock.now())})
    slots = [item["slot"] for item in first.json["items"] + rest.json["items"]]
    assert len(set(slots)) == 130
    assert slots == sorted(slots)
    assert rest.json["next_from"] is None


def test_the_end_of_the_range_does_not_belong_to_it() -> None:
    world, _ = hourly()
    body = {"from": "2026-11-26T20:00:00Z", "to": "2026-11-26T22:00:00Z", "dry_run": True}
    shown = world.send("POST", PATH, body).json["items"]
    assert [item["slot"][11:13] for item in shown] == ["20", "21"]


def test_a_job_that_starts_nothing_is_not_filled() -> None:
    world, _ = hourly()
    world.send("DELETE", JOB_PATH)
    before = world.contents()
    assert fill(world, -4, 0).status == 409
    assert world.contents() == before


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/from"),
        ({"from": "yesterday"}, "#/from"),
        ({"from": "2026-11-26T00:00:00Z", "to": "2026-11-26T00:00:00Z"}, "#/to"),
        ({"from": "2026-11-26T00:00:00Z", "to": "2027-11-26T00:00:00Z"}, "#/to"),
        ({"from": "1970-01-01T00:00:00Z"}, "#/from"),
        ({"from": "2026-11-26T00:00:00Z", "limit": MAX_BACKFILL + 1}, "#/limit"),
        ({"from": "2026-11-26T00:00:00Z", "dry_run": "yes"}, "#/dry_run"),
        ({"from_": "2026-11-26T00:00:00Z", "from": "2026-11-26T00:00:00Z"}, "#/from_"),
    ],
)
def test_a_wrong_range_is_refused_by_name(body: dict[str, Any], pointer: str) -> None:
    world = World()
    world.create(schedule=CRON)
    before = world.contents()
    reply = world.send("POST", PATH, body)
    assert (reply.status, reply.pointers) == (400, [pointer])
    assert world.contents() == before
    assert MAX_BACKFILL_AGE_MS > 3_650 * DAY
