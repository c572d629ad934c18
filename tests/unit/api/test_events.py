"""What the API tells on the bus, after its writes and once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from functions.api.resolving import build
from shared.adapters.memory import MemoryEventBus, MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.events import SCHEMAS, Event
from shared.domain.instants import HOUR, Instant
from shared.domain.run import RunStatus
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.world import JOB, World

SECRET = "a-secret-of-the-user"


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def bus() -> MemoryEventBus:
    return MemoryEventBus()


def telling(world: World, bus: MemoryEventBus, lines: list[str] | None = None, **stores: Any) -> World:
    """The same world, whose process tells on this bus."""
    metrics = MetricLog("Carillon/test", {"service": "api"}, write=([] if lines is None else lines).append)
    backend = replace(world.backend(**stores), announcements=Announcements(bus), metrics=metrics)
    world.handler = build(backend)
    return world


def told(bus: MemoryEventBus) -> list[str]:
    """The types so far, each of which is as its schema says."""
    for event in bus.events:
        schema = dict(SCHEMAS[event.type])
        jsonschema_rs.validator_for(schema).validate(dict(event.detail))
        assert set(event.detail) == set(schema["properties"])
        assert SECRET not in json.dumps(dict(event.detail))
    return [event.type.value for event in bus.events]


def test_each_change_of_a_job_is_told_once_with_its_generation(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus)
    path = "/v1/jobs/nightly-report"
    world.send("POST", "/v1/jobs", {**JOB, "payload": SECRET, "name": SECRET})
    world.send("POST", f"{path}/pause")
    world.send("POST", f"{path}/pause")
    world.send("POST", f"{path}/resume")
    world.send("PATCH", path, {"name": "other"})
    world.send("DELETE", path)
    world.send("DELETE", path)

    assert told(bus) == ["job.created", "job.paused", "job.resumed", "job.updated", "job.cancelled"]
    details = [event.detail for event in bus.events]
    assert {(each["owner_id"], each["job_id"]) for each in details} == {("acme", "nightly-report")}
    generations = [each["generation"] for each in details]
    assert [each["revision"] for each in details] == [1, 2, 3, 4, 5]
    assert generations == sorted(generations)


def test_put_tells_whether_it_created_or_changed(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus)
    for name in ("first", "first", "second"):
        world.send("PUT", "/v1/jobs/nightly-report", {**JOB, "name": name})

    assert told(bus) == ["job.created", "job.updated"]


def test_a_repeat_under_the_same_key_tells_nothing_new(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus)
    for _ in range(2):
        world.send("POST", "/v1/jobs", JOB, idempotency_key="once")

    assert told(bus) == ["job.created"]


def test_what_is_erased_was_told_to_be_cancelled_before(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus)
    world.send("POST", "/v1/jobs", JOB)
    world.send("DELETE", "/v1/jobs/nightly-report")
    world.send("DELETE", "/v1/jobs/nightly-report", query="purge=true")

    assert told(bus) == ["job.created", "job.cancelled"]


def test_a_change_of_many_tells_of_each(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus)
    for number in range(3):
        world.send("POST", "/v1/jobs", {**JOB, "job_id": f"job{number}", "group": "g"})
    world.send("POST", "/v1/jobs:pause", {"group": "g"})

    assert told(bus) == ["job.created"] * 3 + ["job.paused"] * 3


def test_a_waiting_run_that_is_cancelled_is_told_and_a_running_one_by_its_worker(
    world: World, bus: MemoryEventBus
) -> None:
    world.send("POST", "/v1/jobs", JOB)
    job = world.job()
    waiting = world.claimed(job, Instant(job.from_at + HOUR))
    running = world.claimed(job, Instant(job.from_at + 2 * HOUR))
    world.tables.put_run(replace(waiting, status=RunStatus.WAITING), waiting.slot)
    telling(world, bus)
    for run in (waiting, waiting, running):
        world.send("POST", f"/v1/jobs/nightly-report/runs/{run.run_id}/cancel")

    assert told(bus) == ["run.cancelled"]
    assert bus.events[0].detail["run_id"] == waiting.run_id
    assert bus.events[0].detail["reason"] == "cancelled"


class Refusing(MemoryJobStore):
    def write(self, change: JobWrite) -> WriteOutcome:
        raise StoreThrottled("jobs.write", f"on purpose: {change.job.job_key}")


def test_nothing_is_told_of_what_was_not_written(world: World, bus: MemoryEventBus) -> None:
    telling(world, bus, jobs=Refusing(world.tables))

    assert world.send("POST", "/v1/jobs", JOB).status == 503
    assert told(bus) == []


class Away(MemoryEventBus):
    def publish(self, events: Sequence[Event]) -> None:
        raise StoreThrottled("events.publish", f"{len(events)} on purpose")


def test_a_bus_that_is_away_costs_its_events_which_are_counted_and_no_answer(world: World) -> None:
    lines: list[str] = []
    telling(world, Away(), lines)

    assert world.send("POST", "/v1/jobs", JOB).status == 201
    assert world.send("GET", "/v1/jobs/nightly-report").status == 200

    [line] = map(json.loads, lines)
    assert (line["service"], line["events_lost"]) == ("api", 1)
