from __future__ import annotations

from typing import Any

import pytest

from shared.adapters.memory import MemoryJobStore
from shared.domain.instants import MINUTE
from shared.domain.job import JobState
from shared.domain.pages import Page
from shared.ports import JobFilter
from tests.unit.api.test_cancelling import run_of
from tests.unit.api.world import World


@pytest.fixture
def world() -> World:
    world = World()
    for number, (group, tags) in enumerate(
        [("billing", {"team": "finance"}), ("billing", {}), ("ops", {"team": "finance"}), ("ops", {})]
    ):
        world.create(job_id="abcd"[number], group=group, tags=tags, schedule={"every": "PT1M"})
        world.clock.advance(1)
    return world


def states(world: World) -> dict[str, str]:
    return {job.job_id: str(job.state) for job in world.tables.jobs.values()}


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        ({"group": "billing"}, "ab"),
        ({"tags": {"team": "finance"}}, "ac"),
        ({"group": "ops", "tags": {"team": "finance"}}, "c"),
    ],
)
def test_the_jobs_of_a_group_or_tag_are_paused_and_resumed(
    world: World, selection: dict[str, Any], chosen: str
) -> None:
    paused = world.send("POST", "/v1/jobs:pause", selection)
    assert (paused.status, paused.json["changed"], paused.json["next_cursor"]) == (200, len(chosen), None)
    assert {job_id for job_id, state in states(world).items() if state == "paused"} == set(chosen)
    assert world.send("POST", "/v1/jobs:pause", selection).json["changed"] == 0
    resumed = world.send("POST", "/v1/jobs:resume", selection)
    assert resumed.json["changed"] == len(chosen)
    assert {item["state"] for item in resumed.json["items"]} == {"active"}
    assert set(states(world).values()) == {"active"}


def test_a_cancel_names_the_runs_that_are_alive_and_a_repeat_changes_nothing(world: World) -> None:
    run = run_of(world, world.job("a"), world.clock.advance(MINUTE))
    reply = world.send("POST", "/v1/jobs:cancel", {"group": "billing"})
    assert reply.json["changed"] == 2
    assert {item["job_id"]: item["run_ids"] for item in reply.json["items"]} == {"a": [run.run_id], "b": []}
    assert world.send("POST", "/v1/jobs:cancel", {"group": "billing"}).json == {
        "changed": 0, "items": [], "next_cursor": None,
    }  # fmt: skip
    assert states(world) == {"a": "cancelled", "b": "cancelled", "c": "active", "d": "active"}


def test_many_jobs_are_changed_page_by_page(world: World) -> None:
    seen: list[str] = []
    cursor = None
    for _ in range(5):
        body: dict[str, Any] = {"tags": {}, "group": "billing", "limit": 1, "cursor": cursor}
        reply = world.send("POST", "/v1/jobs:pause", body).json
        seen += [item["job_id"] for item in reply["items"]]
        cursor = reply["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == ["a", "b"]


@pytest.mark.parametrize("body", [{}, {"group": ""}, {"tags": {}}])
def test_nothing_chosen_is_not_everything(world: World, body: dict[str, Any]) -> None:
    """An empty group is what a variable says that is not set, and all jobs without one are in it."""
    reply = world.send("POST", "/v1/jobs:cancel", body)
    assert (reply.status, reply.json["errors"][0]["detail"]) == (400, "name a group, tags, or both")
    assert "cancelled" not in states(world).values()


class Stale(MemoryJobStore):
    """An index that is behind: it shows every job as it was, whatever it is now."""

    def __init__(self, world: World) -> None:
        super().__init__(world.tables)
        self.shown = tuple(world.tables.jobs.values())

    def list_of_owner(self, owner_id: str, *, only: JobFilter, limit: int, cursor: str | None = None) -> Page[Any]:
        del owner_id, limit, cursor
        return Page(tuple(job for job in self.shown if only.admits(job)))


@pytest.mark.parametrize("word", ["pause", "cancel"])
def test_a_job_that_left_the_group_since_the_index_saw_it_is_not_touched(world: World, word: str) -> None:
    stale = world.process(jobs=Stale(world))
    world.send("PATCH", "/v1/jobs/a", {"group": "other"})
    reply = world.send("POST", f"/v1/jobs:{word}", {"group": "billing"}, handler=stale)
    assert [item["job_id"] for item in reply.json["items"]] == ["b"]
    assert world.job("a").state is JobState.ACTIVE


def test_a_job_that_ended_meanwhile_is_told_as_such_and_hinders_no_other(world: World) -> None:
    stale = world.process(jobs=Stale(world))
    world.send("DELETE", "/v1/jobs/a")
    reply = world.send("POST", "/v1/jobs:pause", {"group": "billing"}, handler=stale)
    assert {item["job_id"]: item["status"] for item in reply.json["items"]} == {"a": 409, "b": 200}
    assert reply.json["changed"] == 1


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"groop": "x"}, "#/groop"),
        ({"tags": {}}, "#"),
        ({"limit": 5}, "#"),
        ({"group": "x", "limit": 101}, "#/limit"),
        ({"group": "x", "cursor": "xyz"}, "#/cursor"),
        ({"group": 5}, "#/group"),
    ],
)
def test_a_selection_of_nothing_in_particular_is_refused(world: World, body: dict[str, Any], pointer: str) -> None:
    before = world.contents()
    reply = world.send("POST", "/v1/jobs:cancel", body)
    assert (reply.status, reply.pointers) == (400, [pointer])
    assert world.contents() == before


def test_a_change_of_many_is_logged_for_each(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.clear()
    world.send("POST", "/v1/jobs:pause", {"group": "billing"})
    assert sorted((vars(line)["action"], vars(line)["job_id"]) for line in caplog.records) == [
        ("job.pause", "a"),
        ("job.pause", "b"),
    ]
