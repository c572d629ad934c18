from __future__ import annotations

import json
from typing import Any

import pytest

from shared.adapters.memory import MemoryRunStore
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import DAY, HOUR, Instant
from shared.domain.keys import RunKey
from shared.domain.limits import MAX_PAYLOAD_BYTES
from shared.domain.run import Run, RunKind, RunStatus
from shared.ports import Completion, PlanOutcome
from tests.unit.api.world import HTTP, World

PATH = "/v1/jobs/nightly-report/runs"
KEY = "now-1"


def singles(world: World) -> list[Entry]:
    return [entry for entry in world.entries() if entry.schedule is None and entry.is_single]


def runs(world: World) -> list[Run]:
    return list(world.tables.runs.values())


def test_a_run_is_planned_with_its_entry_and_an_identity_of_its_own() -> None:
    world = World()
    job = world.create()
    now = world.clock.advance(HOUR)
    reply = world.send("POST", PATH)
    assert reply.status == 202
    assert (reply.json["kind"], reply.json["status"], reply.json["attempt"]) == ("manual", "waiting", 1)
    assert reply.json["run_id"].startswith("20261127T010000000Z-m")
    assert len(reply.json["run_id"]) == len("20261127T010000000Z-m123456")
    assert reply.headers["location"] == f"{PATH}/{reply.json['run_id']}"
    assert world.send("GET", reply.headers["location"]).json == reply.json
    (entry,) = singles(world)
    assert (entry.run_id, entry.next_at, entry.generation) == (reply.json["run_id"], now, job.generation)
    assert (entry.kind, entry.lane, entry.attempt) == (RunKind.MANUAL, job.lane, 1)


def test_the_schedule_of_the_job_is_not_touched() -> None:
    world = World()
    job = world.create()
    (recurring,) = world.entries()
    world.send("POST", PATH)
    assert world.job() == job
    assert recurring in world.entries()


@pytest.mark.parametrize(
    ("body", "stored"),
    [(None, None), ({}, None), ({"payload": {"b": 1, "a": "€"}}, '{"b":1,"a":"€"}'), ({"payload": None}, "null")],
)
def test_a_payload_may_be_given_for_this_run_alone(body: Any, stored: str | None) -> None:
    world = World()
    world.create()
    world.send("POST", PATH, body)
    (run,) = runs(world)
    assert run.payload_json == stored
    assert stored is None or json.loads(stored) == body["payload"]


@pytest.mark.parametrize("name", ["name", "slot", " user.name "])
def test_what_handlers_are_given_is_no_template_and_what_webhooks_are_is(name: str) -> None:
    world = World()
    world.create(target={"type": "handler", "name": "echo"}, payload=f"{{{{{name}}}}}")
    assert world.send("POST", PATH, {"payload": f"{{{{{name}}}}}"}).status == 202
    world.create(job_id="hook", target=HTTP)
    reply = world.send("POST", "/v1/jobs/hook/runs", {"payload": {"text": "{{name}}"}})
    assert (reply.status, reply.pointers) == (400, ["#/payload/text"])
    assert "{{{{" in reply.json["errors"][0]["detail"]


def test_a_payload_of_templates_is_sent_as_it_is_where_the_target_says_so() -> None:
    world = World()
    world.create(target={**HTTP, "templates": False}, payload={"text": "Dear {{name}}"})
    assert world.send("POST", PATH, {"payload": "{{name}}"}).status == 202
    # Turning them on would send what nobody meant.
    reply = world.send("PATCH", "/v1/jobs/nightly-report", {"target": {"templates": True}})
    assert (reply.status, reply.pointers) == (400, ["#/payload/text"])


def test_two_runs_in_one_millisecond_are_two() -> None:
    world = World()
    world.create()
    assert world.send("POST", PATH).json["run_id"] != world.send("POST", PATH).json["run_id"]
    assert len(singles(world)) == 2


def test_a_repeat_under_the_same_key_gives_the_same_run() -> None:
    world = World()
    world.create()
    first = world.send("POST", PATH, {"payload": 1}, idempotency_key=KEY)
    before = world.contents()
    world.clock.advance(HOUR)
    again = world.send("POST", PATH, {"payload": 1}, idempotency_key=KEY)
    assert (again.status, again.text, again.headers) == (202, first.text, first.headers)
    assert world.contents() == before
    assert world.send("POST", PATH, {"payload": 2}, idempotency_key=KEY).status == 422


class LosesPlans(MemoryRunStore):
    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        super().plan(run, entry, seen=seen, receipt=receipt)
        raise OutcomeUnknown("runs.plan", "timed out")


def test_after_a_lost_answer_a_repeat_finds_the_run_it_planned() -> None:
    world = World()
    world.create()
    lost = world.send("POST", PATH, idempotency_key=KEY, handler=world.process(runs=LosesPlans(world.tables)))
    assert lost.status == 503
    again = world.send("POST", PATH, idempotency_key=KEY)
    assert again.status == 202
    assert [run.run_id for run in runs(world)] == [again.json["run_id"]]


def test_a_paused_job_is_run_and_a_cancelled_one_starts_nothing() -> None:
    world = World()
    world.create()
    world.send("POST", "/v1/jobs/nightly-report/pause")
    assert world.send("POST", PATH).status == 202
    world = World()
    world.create()
    world.send("DELETE", "/v1/jobs/nightly-report")
    assert world.send("POST", PATH).json["title"] == "The job has ended"
    assert runs(world) == []


def test_a_completed_job_can_be_run_again() -> None:
    world = World()
    job = world.create(schedule={"in": "PT5S"})
    world.jobs.complete([Completion(job.job_key, job.generation, Instant(world.clock.now() + DAY))])
    assert world.send("POST", PATH).status == 202


def test_a_run_that_was_planned_is_named_by_a_cancel() -> None:
    world = World()
    world.create()
    run_id = world.send("POST", PATH).json["run_id"]
    assert world.send("DELETE", "/v1/jobs/nightly-report").json == {
        "outcome": "running",
        "run_ids": [run_id],
        "run_count": 1,
    }
    stored = world.runs.get(RunKey("acme/nightly-report", run_id))
    assert stored is not None
    assert stored.status is RunStatus.WAITING


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"payload": "x" * MAX_PAYLOAD_BYTES}, 413, "#/payload"),
        ({"payload": {"a": "\ud800"}}, 400, "#/payload/a"),
        ({"pay": 1}, 400, "#/pay"),
    ],
)
def test_a_wrong_payload_is_refused_by_name(body: dict[str, Any], status: int, pointer: str) -> None:
    world = World()
    world.create()
    before = world.contents()
    reply = world.send("POST", PATH, body)
    assert (reply.status, reply.pointers) == (status, [pointer])
    assert world.contents() == before
