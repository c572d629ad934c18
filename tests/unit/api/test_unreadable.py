"""Requests at fault as a whole: bodies, sizes, media types, queries, routes and methods."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from functions.api.settings import ApiSettings
from shared.domain.limits import MAX_BODY_BYTES, MAX_PAYLOAD_BYTES
from tests.unit.api.world import JOB, World, event_of, refused


@pytest.mark.parametrize(
    "body",
    [
        "",
        " ",
        "{",
        "nonsense",
        "[]",
        "7",
        "null",
        '"text"',
        "[" * 5_000,
        '{"a":' * 5_000,
        '{"schedule": {}, "schedule": {}}',
        '{"payload": {"a": 1, "a": 2}}',
        '{"a": ' + "1" * 5_000 + "}",
        "\ufeff{}",
    ],
    ids=lambda body: body[:20],
)
def test_what_is_no_json_object_is_refused(body: str) -> None:
    assert refused(World(), body)["status"] == 400


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_what_is_no_number_is_refused_by_its_place(number: str) -> None:
    document = refused(World(), json.dumps(JOB)[:-1] + f', "tags": {{"big": {number}}}}}')
    assert [each["pointer"] for each in document["errors"]] == ["#/tags/big"]


def test_two_schedules_of_one_name_are_refused_by_the_name() -> None:
    assert "'schedule'" in refused(World(), '{"schedule": {"in": "PT1S"}, "schedule": {"in": "PT2S"}}')["detail"]


def test_a_payload_may_be_as_large_as_the_limit_and_no_larger() -> None:
    world = World()
    world.create(payload="x" * (MAX_PAYLOAD_BYTES - 2))
    document = refused(world, {**JOB, "job_id": "larger", "payload": "x" * (MAX_PAYLOAD_BYTES - 1)})
    assert document["status"] == 413
    assert [each["pointer"] for each in document["errors"]] == ["#/payload"]


def test_a_deployment_may_take_smaller_payloads() -> None:
    world = World(settings=ApiSettings(payload_bytes=100))
    path = f"/v1/jobs/{world.create(payload='x' * 98).job_id}"
    assert refused(world, {**JOB, "job_id": "larger", "payload": "x" * 99})["status"] == 413
    assert world.send("PATCH", path, {"payload": "x" * 99}).status == 413
    assert world.send("POST", f"{path}/runs", {"payload": "x" * 99}).status == 413


def test_the_size_of_a_payload_is_that_of_its_utf_8() -> None:
    document = refused(World(), json.dumps({**JOB, "payload": "€" * (MAX_PAYLOAD_BYTES // 3 + 1)}, ensure_ascii=False))
    assert document["status"] == 413


@pytest.mark.parametrize("size", [MAX_BODY_BYTES + 1, 5 * MAX_BODY_BYTES])
def test_a_body_over_the_limit_is_refused(size: int) -> None:
    document = refused(World(), json.dumps(JOB).ljust(size))
    assert document["status"] == 413
    assert str(MAX_BODY_BYTES) in document["detail"]


def test_a_body_of_just_the_limit_is_read() -> None:
    assert World().send("POST", "/v1/jobs", json.dumps(JOB).ljust(MAX_BODY_BYTES)).status == 201


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json"]
)
def test_another_media_type_is_refused_with_the_one_that_is_read(media_type: str) -> None:
    document = refused(World(), JOB, content_type=media_type)
    assert document["status"] == 415
    assert "application/json" in document["detail"]


def test_a_charset_may_follow_the_media_type() -> None:
    assert World().send("POST", "/v1/jobs", JOB, content_type="Application/JSON; charset=utf-8").status == 201


def encoded_event(world: World, body: str) -> dict[str, Any]:
    event = event_of("POST", "/v1/jobs", body, query="", headers={"authorization": f"Bearer {world.key_text}"})
    return {**event, "isBase64Encoded": True}


def test_a_body_that_came_as_base64_is_read() -> None:
    world = World()
    body = base64.b64encode(json.dumps({**JOB, "name": "Glück"}, ensure_ascii=False).encode()).decode()
    assert world.handler(encoded_event(world, body), None)["statusCode"] == 201
    assert world.job().name == "Glück"


@pytest.mark.parametrize("body", ["not base64!", base64.b64encode(b"\xff\xfe{}").decode()])
def test_bytes_that_are_no_text_are_refused(body: str) -> None:
    world = World()
    assert world.handler(encoded_event(world, body), None)["statusCode"] == 400
    assert world.tables.jobs == {}


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("limit=0", "#/limit"),
        ("limit=201", "#/limit"),
        ("limit=many", "#/limit"),
        ("limit=1&limit=2", "#/limit"),
        ("state=gone", "#/state"),
        ("cursor=xyz", "#/cursor"),
        ("owner=globex", "#/owner"),
        ("tag=team", "#/tag"),
        ("group=" + "a" * 65, "#/group"),
        ("limit=", "#/limit"),
    ],
)
def test_a_wrong_query_parameter_is_refused_by_name(query: str, pointer: str) -> None:
    reply = World().send("GET", "/v1/jobs", query=query)
    assert (reply.status, reply.pointers) == (400, [pointer])


def test_no_job_is_called_like_a_route() -> None:
    world = World()
    assert world.send("GET", "/v1/jobs/batch").headers["allow"] == "POST"
    assert world.send("POST", "/v1/jobs", {**JOB, "job_id": "batch"}).pointers == ["#/job_id"]
    assert world.send("PUT", "/v1/jobs/batch", JOB).status == 405


@pytest.mark.parametrize("job_id", ["0~5", "a/b", "a" * 65, "a%0A"])
def test_failures_of_what_is_no_job_are_refused(job_id: str) -> None:
    reply = World().send("GET", "/v1/runs", query=f"job_id={job_id}")
    assert (reply.status, reply.pointers) == (400, ["#/job_id"])


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/jobs/", "/v1/jobs/a/", "/v1/jobs/a\n", "/v2/jobs", "/v1/jobs/a/b"]
)
def test_an_unknown_route_is_answered_404(path: str) -> None:
    reply = World().send("GET", path)
    assert (reply.status, reply.json["title"]) == (404, "There is no such route")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/jobs", "GET, POST"),
        ("POST", "/v1/jobs/a", "DELETE, GET, PATCH, PUT"),
        ("OPTIONS", "/v1/jobs/a/pause", "POST"),
        ("HEAD", "/v1/jobs/a/runs/b", "GET"),
        ("POST", "/v1/health", "GET"),
    ],
)
def test_a_method_the_route_has_not_is_answered_405_with_those_it_has(method: str, path: str, allowed: str) -> None:
    reply = World().send(method, path)
    assert (reply.status, reply.headers["allow"]) == (405, allowed)
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_body_where_none_is_read_is_refused() -> None:
    world = World()
    world.create()
    assert world.send("POST", "/v1/jobs/nightly-report/pause", {"until": "tomorrow"}).status == 400
    assert world.send("POST", "/v1/jobs/nightly-report/pause", "{}").status == 200
