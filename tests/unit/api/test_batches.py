from __future__ import annotations

from typing import Any

import pytest

from functions.api.batches import BEGUN_WITHIN_SECONDS
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import HOUR, SECOND
from shared.domain.limits import MAX_BATCH, MAX_BATCH_BODY_BYTES
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.world import CRON, HTTP, JOB, Reply, World

PATH = "/v1/jobs/batch"
KEY = "batch-1"
ITEM: dict[str, Any] = {"schedule": {"in": "PT5M"}, "target": HTTP}


def send(world: World, *items: Any, **options: Any) -> Reply:
    return world.send("POST", PATH, {"items": list(items)}, **options)


def test_each_item_is_answered_in_its_order_and_fails_alone() -> None:
    world = World()
    wrong = {"job_id": "wrong", "schedule": {"cron": "61 * * * *"}, "target": HTTP}
    reply = send(world, JOB, wrong, JOB, ITEM)
    assert reply.status == 200
    created, refused, repeated, unnamed = reply.json["items"]
    assert created == {"job_id": "nightly-report", "status": 201, "revision": 1}
    assert (refused["job_id"], refused["status"]) == ("wrong", 400)
    assert [each["pointer"] for each in refused["problem"]["errors"]] == ["#/schedule/cron"]
    assert (repeated["status"], repeated["problem"]["title"]) == (409, "The job exists")
    assert (unnamed["status"], len(unnamed["job_id"])) == (201, 26)
    assert len(world.tables.jobs) == len(world.entries()) == 2


def test_a_repeat_under_the_same_key_makes_nothing_twice_and_gives_the_same_ids() -> None:
    world = World()
    first = send(world, ITEM, ITEM, ITEM, idempotency_key=KEY)
    before = world.contents()
    world.clock.advance(HOUR)
    again = send(world, ITEM, ITEM, ITEM, idempotency_key=KEY)
    assert again.text == first.text
    assert len({item["job_id"] for item in first.json["items"]}) == 3
    assert world.contents() == before


class DiesAfter(MemoryJobStore):
    """Writes so many jobs; the next one is written too, but nobody hears of it, and then nothing works any more."""

    def __init__(self, world: World, count: int) -> None:
        super().__init__(world.tables)
        self.left = count

    def write(self, change: JobWrite) -> WriteOutcome:
        self.left -= 1
        if self.left >= -1:
            written = super().write(change)
        if self.left < 0:
            raise OutcomeUnknown("jobs.write", "no answer")
        return written


def test_a_repeat_after_an_interruption_creates_what_is_missing() -> None:
    world = World()
    broken = send(world, ITEM, ITEM, ITEM, ITEM, idempotency_key=KEY, handler=world.process(jobs=DiesAfter(world, 1)))
    assert [item["status"] for item in broken.json["items"]] == [201, 503, 503, 503]
    assert len(world.tables.jobs) == 2
    again = send(world, ITEM, ITEM, ITEM, ITEM, idempotency_key=KEY)
    assert [item["status"] for item in again.json["items"]] == [201] * 4
    assert again.json["items"][0] == broken.json["items"][0]
    assert len(world.tables.jobs) == len(world.entries()) == 4


def test_the_same_key_with_another_batch_is_refused_as_a_whole() -> None:
    world = World()
    send(world, ITEM, idempotency_key=KEY)
    before = world.contents()
    reply = send(world, ITEM, JOB, idempotency_key=KEY)
    assert reply.status == 422
    assert world.contents() == before


def test_a_key_of_a_batch_is_not_that_of_a_single_create() -> None:
    world = World()
    send(world, ITEM, idempotency_key=KEY)
    assert world.send("POST", "/v1/jobs", JOB, idempotency_key=KEY).status == 201


class Slow(MemoryJobStore):
    def __init__(self, world: World) -> None:
        super().__init__(world.tables)
        self.world = world

    def write(self, change: JobWrite) -> WriteOutcome:
        self.world.clock.advance(int(BEGUN_WITHIN_SECONDS * SECOND) // 2)
        return super().write(change)


def test_what_there_is_no_time_for_is_left_for_the_repeat() -> None:
    world = World()
    reply = send(world, ITEM, ITEM, ITEM, idempotency_key=KEY, handler=world.process(jobs=Slow(world)))
    assert [item["status"] for item in reply.json["items"]] == [201, 201, 503]
    assert "repeat" in reply.json["items"][2]["problem"]["detail"]
    assert [item["status"] for item in send(world, ITEM, ITEM, ITEM, idempotency_key=KEY).json["items"]] == [201] * 3


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"items": []}, "#/items"),
        ({"items": [ITEM] * (MAX_BATCH + 1)}, "#/items"),
        ({"items": ITEM}, "#/items"),
        ({"items": [7]}, "#/items/0"),
        ({}, "#/items"),
        ({"items": [ITEM], "jobs": []}, "#/jobs"),
    ],
)
def test_what_is_no_batch_is_refused(body: Any, pointer: str) -> None:
    reply = World().send("POST", PATH, body)
    assert (reply.status, reply.pointers) == (400, [pointer])


def test_a_batch_may_be_as_large_as_its_limit_and_no_larger() -> None:
    world = World()
    items = [{"schedule": CRON, "target": HTTP, "payload": "x" * 41_000} for _ in range(MAX_BATCH)]
    assert {item["status"] for item in send(world, *items).json["items"]} == {201}
    assert send(world, *[{**item, "name": "x" * 1_500} for item in items]).status == 413
    assert MAX_BATCH_BODY_BYTES == 4 * 1024 * 1024
