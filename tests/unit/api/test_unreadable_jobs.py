"""A job whose schedule this release cannot work out keeps nobody from the others, nor from mending or deleting it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.access import Scope
from shared.domain.errors import StoredUnreadable
from shared.domain.instants import MINUTE
from shared.domain.job import Job
from shared.domain.keys import job_key
from shared.domain.pages import Page
from shared.domain.schedules import Cron
from tests.unit.api.world import JOB, World

PATH = "/v1/jobs/nightly-report"


@pytest.fixture
def world() -> World:
    """A later release knows the zone of the one job."""
    world = World()
    world.create()
    world.create(job_id="other")
    key = job_key("acme", "nightly-report")
    in_a_new_zone = Cron(expression="* * * * *", timezone="Mars/Olympus")
    world.tables.jobs[key] = replace(world.tables.jobs[key], schedule=in_a_new_zone)
    return world


def test_it_is_listed_beside_the_others(world: World) -> None:
    items = world.send("GET", "/v1/jobs").json["items"]

    slots = {item["job_id"]: len(item["next_slots"]) for item in items}
    assert slots == {"nightly-report": 0, "other": 5}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", PATH, None),
        ("PATCH", PATH, {"name": "Nightly"}),
        ("PATCH", PATH, {"schedule": {"every": "PT5M"}}),
        ("PUT", PATH, JOB),
        ("POST", f"{PATH}/pause", None),
        ("DELETE", PATH, None),
        ("POST", f"{PATH}/runs", None),
    ],
)
def test_it_can_be_shown_mended_paused_and_deleted(
    world: World, method: str, path: str, body: dict[str, Any] | None
) -> None:
    world.clock.advance(MINUTE)
    reply = world.send(method, path, body)
    assert reply.status in {200, 201, 202}, reply.text


def test_what_only_the_schedule_tells_is_refused_by_name(world: World) -> None:
    reply = world.send("GET", f"{PATH}/explain")
    assert (reply.status, reply.json["type"].rpartition("#")[2]) == (500, "errors-stored-unreadable")
    assert "Mars/Olympus" in reply.json["detail"]


class SomeUnreadable:
    """A store of which the row of `nightly-report` is of a later version."""

    def __init__(self, world: World) -> None:
        self._jobs = world.jobs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jobs, name)

    def list_of_owner(self, owner_id: str, **options: Any) -> Page[Job]:
        page = self._jobs.list_of_owner(owner_id, **options)
        items = tuple(job for job in page.items if job.job_id != "nightly-report")
        return Page(items, page.cursor, ("nightly-report",) if len(items) < len(page.items) else ())

    def get_many(self, keys: Any) -> dict[str, Job]:
        if any(key.endswith("/nightly-report") for key in keys):
            raise StoredUnreadable("job 'nightly-report'", "KeyError: 'state'")
        return self._jobs.get_many(keys)


def test_a_row_that_cannot_be_read_is_named_beside_the_list(world: World) -> None:
    world.handler = world.process(jobs=SomeUnreadable(world))

    page = world.send("GET", "/v1/jobs").json

    assert [item["job_id"] for item in page["items"]] == ["other"]
    assert page["unreadable"] == ["nightly-report"]


def test_an_owner_with_a_row_that_cannot_be_read_is_not_called_erased(world: World) -> None:
    world.handler = world.process(jobs=SomeUnreadable(world))
    key = world.mint("acme", Scope.ADMIN)

    done = world.send("POST", "/v1/owners/acme/erase", key=key).json

    assert not done["is_done"]
