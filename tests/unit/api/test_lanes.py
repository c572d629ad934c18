"""Which lanes a job may choose: those of the deployment, and what is late goes by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.api.resolving import build
from functions.api.settings import ApiSettings, read_settings
from shared.schema import LANES
from tests.unit.api.world import JOB, World


def world_with(*lanes: str) -> World:
    return World(settings=ApiSettings(lanes=(*LANES, *lanes)))


def put(world: World, **members: Any) -> int:
    return world.send("PUT", "/v1/jobs/nightly-report", {**JOB, **members}).status


def test_a_lane_of_the_deployment_can_be_chosen() -> None:
    world = world_with("bulk")

    assert world.create(lane="bulk").lane == "bulk"
    assert world.entry().lane == "bulk"


@pytest.mark.parametrize("lane", ["bulk2", "catchup", "BULK"])
def test_another_one_is_refused_with_those_there_are(lane: str) -> None:
    reply = world_with("bulk").send("POST", "/v1/jobs", {**JOB, "lane": lane})

    assert (reply.status, reply.pointers) == (400, ["#/lane"])
    assert "there are default, long, bulk" in reply.json["errors"][0]["detail"]


def test_a_change_of_lane_is_judged_and_any_other_change_is_not() -> None:
    world = world_with("bulk")
    world.create(lane="bulk")
    world.handler = build(replace(world.backend(), settings=ApiSettings()))

    assert put(world, lane="bulk", name="Other") == 200
    assert put(world, lane="gone") == 400
    assert put(world, lane="default") == 200


def test_the_lanes_are_what_the_environment_says() -> None:
    assert read_settings({}).lanes == LANES
    assert read_settings({"CARILLON_LANES": "default,catchup,long,bulk"}).lanes == (*LANES, "bulk")
