from __future__ import annotations

from typing import Any

import pytest

from functions.api.bodies import merge_patch
from functions.api.editor import WRITE_ATTEMPTS
from shared.adapters.memory import MemoryJobStore
from shared.domain.instants import HOUR, SECOND
from shared.domain.schedules import Cron, Every, Misfire
from shared.ports import JobWrite, WriteOutcome
from tests.unit.api.test_idempotency import Interrupted
from tests.unit.api.world import JOB, World

PATH = "/v1/jobs/nightly-report"


@pytest.mark.parametrize(
    "media_type", ["application/merge-patch+json", "application/json", "application/json;charset=utf-8"]
)
def test_a_patch_changes_what_it_names_and_keeps_the_rest(media_type: str) -> None:
    world = World()
    world.create(tags={"team": "finance", "tier": "1"}, name="Old")
    world.clock.advance(SECOND)
    reply = world.send("PATCH", PATH, {"name": "New", "tags": {"tier": None, "env": "prod"}}, content_type=media_type)
    assert (reply.status, reply.headers["etag"]) == (200, '"2"')
    assert (reply.json["name"], reply.json["tags"]) == ("New", {"team": "finance", "env": "prod"})
    assert reply.json["payload"] == JOB["payload"]
    assert reply.json["updated_at"] == "2026-11-27T00:00:01.000Z"
    assert reply.json["created_at"] == "2026-11-27T00:00:00.000Z"


@pytest.mark.parametrize(
    "patch",
    [
        {"payload": {"report": "weekly"}},
        {"target": {"url": "https://example.com/other"}},
        {"name": "x", "group": "y", "tags": {"a": "b"}, "timeout": "PT5M", "keep_after_completion": "P1D"},
    ],
)
def test_what_the_scheduler_does_not_know_makes_no_new_generation_and_leaves_the_entry(patch: dict[str, Any]) -> None:
    world = World()
    before = world.create()
    entries = world.entries()
    world.clock.advance(HOUR)
    assert world.send("PATCH", PATH, patch).status == 200
    after = world.job()
    assert (after.generation, after.from_at, after.revision) == (before.generation, before.from_at, 2)
    assert world.entries() == entries


@pytest.mark.parametrize(
    "patch",
    [
        {"schedule": {"cron": "* * * * *"}},
        {"misfire": {"policy": "skip"}},
        {"state": "paused"},
        {"schedule": {"timezone": "UTC"}},
    ],
)
def test_what_the_scheduler_works_by_makes_a_new_generation_from_now(patch: dict[str, Any]) -> None:
    world = World()
    before = world.create()
    now = world.clock.advance(HOUR)
    assert world.send("PATCH", PATH, patch).status == 200
    after = world.job()
    assert (after.generation, after.from_at) == (now, now)
    assert after.generation > before.generation
    entry = world.entry()
    assert (entry.generation, entry.next_at) == (after.generation, now)


def test_a_changed_cron_never_fires_at_once() -> None:
    world = World()
    world.create(schedule={"cron": "0 3 * * *"})
    world.clock.advance(HOUR + 30 * SECOND)
    reply = world.send("PATCH", PATH, {"schedule": {"cron": "* * * * *"}})
    assert reply.json["next_slots"][0] == "2026-11-27T01:01:00.000Z"


def test_a_changed_cron_keeps_its_zone() -> None:
    world = World()
    world.create()
    world.send("PATCH", PATH, {"schedule": {"cron": "0 3 * * *"}})
    schedule = world.job().schedule
    assert isinstance(schedule, Cron)
    assert (schedule.expression, schedule.timezone) == ("0 3 * * *", "Europe/Berlin")


def test_a_schedule_of_another_kind_replaces_the_old_one() -> None:
    world = World()
    world.create()
    assert world.send("PATCH", PATH, {"schedule": {"every": "PT5S"}}).status == 200
    assert isinstance(world.job().schedule, Every)
    assert world.send("PATCH", PATH, {"schedule": {"in": "PT5S"}}).status == 200
    assert world.job().misfire.grace_ms is None
    assert world.send("PATCH", PATH, {"schedule": {"in": "PT9S"}}).status == 200
    assert world.send("PATCH", PATH, {"schedule": JOB["schedule"]}).status == 200
    assert world.job().misfire.grace_ms == 60 * SECOND


def test_the_default_grace_goes_with_the_schedule_whatever_the_policy() -> None:
    world = World()
    world.create(misfire={"policy": "skip", "limit": 3})
    world.send("PATCH", PATH, {"schedule": {"every": "PT5S"}})
    assert world.job().misfire == Misfire("skip", 5 * SECOND, 3)
    world.send("PATCH", PATH, {"misfire": {"policy": "skip", "grace": "PT30S"}})
    world.send("PATCH", PATH, {"schedule": {"every": "PT9S"}})
    assert world.job().misfire == Misfire("skip", 30 * SECOND, 3)


def test_a_target_of_another_type_replaces_the_old_one() -> None:
    world = World()
    world.create()
    assert world.send("PATCH", PATH, {"target": {"type": "handler", "name": "echo"}}).status == 200
    assert world.job().target == {"type": "handler", "name": "echo"}


def test_a_patch_of_the_payload_of_a_job_that_is_past_does_not_look_at_its_schedule() -> None:
    world = World()
    world.create(schedule={"in": "PT5S"})
    world.clock.advance(HOUR)
    assert world.send("PATCH", PATH, {"payload": 1}).status == 200


def test_a_patch_that_changes_nothing_writes_nothing() -> None:
    world = World()
    world.create()
    before = world.contents()
    world.clock.advance(HOUR)
    reply = world.send("PATCH", PATH, {"payload": JOB["payload"], "state": "active"})
    assert (reply.status, reply.headers["etag"]) == (200, '"1"')
    assert world.contents() == before


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"job_id": "other"}, "#/job_id"),
        ({"nme": "x"}, "#/nme"),
        ({"revision": 7}, "#/revision"),
        ({"schedule": {"every": "PT5S", "in": "PT5S"}}, "#/schedule/every"),
        ({"schedule": None}, "#/schedule"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, "#/schedule/cron"),
        ({"target": {"url": "ftp://example.com"}}, "#/target/url"),
        ({"state": "completed"}, "#/state"),
        ({"overlap": "never"}, "#/overlap"),
        ({"misfire": {"grace": "soon"}}, "#/misfire/grace"),
        ({"misfire": {"grace": "PT0S"}}, "#/misfire/grace"),
    ],
)
def test_a_wrong_patch_is_refused_by_name_and_writes_nothing(patch: dict[str, Any], pointer: str) -> None:
    world = World()
    world.create()
    before = world.contents()
    reply = world.send("PATCH", PATH, patch)
    assert reply.status == 400
    assert pointer in reply.pointers or (pointer == "#/schedule/every" and reply.pointers == ["#/schedule/in"])
    assert world.contents() == before


@pytest.mark.parametrize("if_match", ['"1"', "*", '"7", "1"'])
def test_a_precondition_that_holds_lets_the_change_through(if_match: str) -> None:
    world = World()
    world.create()
    assert world.send("PATCH", PATH, {"name": "x"}, if_match=if_match).status == 200


@pytest.mark.parametrize("if_match", ['"2"', "1", 'W/"1"', ""])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("PATCH", PATH, {"name": "x"}), ("DELETE", PATH, None), ("POST", f"{PATH}/pause", None)],
)
def test_a_precondition_that_fails_writes_nothing(method: str, path: str, body: object, if_match: str) -> None:
    world = World()
    world.create()
    before = world.contents()
    reply = world.send(method, path, body, if_match=if_match)
    assert reply.status == 412
    assert '"1"' in reply.json["detail"]
    assert world.contents() == before


def test_of_two_changes_at_once_both_happen() -> None:
    world = World()
    world.create()
    racing = Interrupted(world, lambda: world.send("PATCH", PATH, {"group": "faster"}))
    reply = world.send("PATCH", PATH, {"name": "slower"}, handler=world.process(jobs=racing))
    assert (reply.status, reply.json["name"], reply.json["group"]) == (200, "slower", "faster")


def test_of_two_changes_at_once_of_one_revision_only_one_happens() -> None:
    world = World()
    world.create()
    racing = Interrupted(world, lambda: world.send("PATCH", PATH, {"group": "faster"}))
    reply = world.send("PATCH", PATH, {"name": "slower"}, if_match='"1"', handler=world.process(jobs=racing))
    assert reply.status == 412
    assert (world.job().name, world.job().group) == ("", "faster")


class AlwaysOvertaken(MemoryJobStore):
    """Somebody else is faster every time."""

    def __init__(self, world: World) -> None:
        super().__init__(world.tables)
        self.world = world
        self.writes = 0

    def write(self, change: JobWrite) -> WriteOutcome:
        self.writes += 1
        self.world.send("PATCH", PATH, {"group": f"faster-{self.writes}"})
        return super().write(change)


def test_a_change_that_is_always_overtaken_is_given_up() -> None:
    world = World()
    world.create()
    store = AlwaysOvertaken(world)
    reply = world.send("PATCH", PATH, {"name": "slower"}, handler=world.process(jobs=store))
    assert (reply.status, store.writes) == (409, WRITE_ATTEMPTS)
    assert world.job().name == ""


@pytest.mark.parametrize(
    "path", ["/v1/jobs/none", "/v1/jobs/no.id", "/v1/jobs/" + "a" * 65, "/v1/jobs/%2e%2e", "/v1/jobs/ü"]
)
def test_a_job_that_is_not_there_is_not_found(path: str) -> None:
    world = World()
    assert world.send("GET", path).status == 404
    assert world.send("PATCH", path, {"name": "x"}).status == 404
    assert world.send("DELETE", path).status == 404
    assert world.send("POST", f"{path}/pause").status == 404
    assert world.send("GET", f"{path}/runs").status == 404


@pytest.mark.parametrize(
    ("document", "patch", "merged"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_merging_agrees_with_the_table_of_rfc_7396(document: object, patch: object, merged: object) -> None:
    assert merge_patch(document, patch) == merged
