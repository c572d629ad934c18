"""A job may name a handler that the workers of its deployment have, where these are known."""

from __future__ import annotations

from typing import Any

import pytest

from functions.api.settings import ApiSettings, read_settings
from tests.unit.api.world import JOB, World, refused

KNOWN = ApiSettings(handlers=frozenset({"echo", "report", "sleep"}))


def handler(name: str) -> dict[str, Any]:
    return {**JOB, "target": {"type": "handler", "name": name}}


def test_a_handler_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    [problem] = refused(World(settings=KNOWN), handler("reprot"))["errors"]

    assert problem["pointer"] == "#/target/name"
    assert "'reprot'; there are echo, report, sleep; did you mean 'report'?" in problem["detail"]
    assert problem["example"] == "report"


def test_it_is_refused_wherever_a_target_is_set() -> None:
    world = World(settings=KNOWN)
    world.create()
    target = {"target": {"type": "handler", "name": "missing"}}

    path = "/v1/jobs/nightly-report"
    assert world.send("PATCH", path, target, content_type="application/merge-patch+json").status == 400
    assert world.send("PUT", path, {**JOB, **target}).status == 400
    assert world.job().target["type"] == "http"
    [item] = world.send("POST", "/v1/jobs/batch", {"items": [{**handler("missing"), "job_id": "b"}]}).json["items"]
    assert item["status"] == 400


def test_a_job_whose_handler_was_taken_away_can_still_be_paused_and_renamed() -> None:
    world = World()
    world.send("POST", "/v1/jobs", handler("gone"))
    later = World(clock=world.clock, settings=KNOWN)
    later.tables.jobs.update(world.tables.jobs)

    assert later.send("POST", "/v1/jobs/nightly-report/pause").status == 200
    assert later.send("PATCH", "/v1/jobs/nightly-report", {"name": "Old"}).status == 200


def test_of_hundreds_the_first_are_named() -> None:
    many = ApiSettings(handlers=frozenset(f"h{number:03}" for number in range(300)))
    [problem] = refused(World(settings=many), handler("missing"))["errors"]
    assert "h019 and 280 more" in problem["detail"]
    assert "h020" not in problem["detail"]


@pytest.mark.parametrize("name", ["echo", "sleep"])
def test_one_that_is_there_is_taken(name: str) -> None:
    assert World(settings=KNOWN).send("POST", "/v1/jobs", handler(name)).status == 201


def test_where_nobody_knows_them_any_name_is_taken() -> None:
    assert World().send("POST", "/v1/jobs", handler("missing")).status == 201
    assert read_settings({}).handlers is None
    assert read_settings({"CARILLON_HANDLER_NAMES": '["a","b"]'}).handlers == frozenset({"a", "b"})
