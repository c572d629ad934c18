"""Bad input and bad keys: refused with the field and a fix, and nothing is written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from localstack import endpoints
from localstack.keys import issue_demo_key
from localstack.stack import Stack
from tests.acceptance.raw import RawClient

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

GOOD: dict[str, Any] = {"schedule": {"in": "PT1H"}, "target": {"type": "handler", "name": "echo"}}
TABLES = ("JobsTable", "JobSchedulesTable", "JobRunsTable", "AccessTable")


def stored(stack: Stack) -> dict[str, int]:
    """Rows of each table, but for those that count requests: every request may make one."""
    dynamodb = endpoints.dynamodb(stack.endpoint)
    return {table: _count(dynamodb, stack.outputs[table], is_counting=table == "AccessTable") for table in TABLES}


def _count(dynamodb: Any, name: str, *, is_counting: bool) -> int:
    only = {
        "FilterExpression": "NOT begins_with(pk, :counter)",
        "ExpressionAttributeValues": {":counter": {"S": "rate#"}},
    }
    count: int = dynamodb.scan(TableName=name, Select="COUNT", **(only if is_counting else {}))["Count"]
    return count


def test_good_input_is_accepted(raw: RawClient) -> None:
    """What the cases below differ from in one point each."""
    created = raw.post("/v1/jobs", GOOD)
    assert created.status == 201
    assert created.headers["location"].endswith(f"/v1/jobs/{created.body['job_id']}")
    raw.delete(f"/v1/jobs/{created.body['job_id']}")


@pytest.mark.parametrize(
    ("change", "status", "pointer"),
    [
        ({"colour": "blue"}, 400, "#/colour"),
        ({"schedule": {"in": "PT1H", "every": "PT1H"}}, 400, "#/schedule/every"),
        ({"schedule": {}}, 400, "#/schedule"),
        ({"schedule": {"at": "2020-01-01T00:00:00Z"}}, 400, "#/schedule/at"),
        ({"schedule": {"cron": "0 0 30 2 *"}}, 400, "#/schedule/cron"),
        ({"schedule": {"cron": "0 9 * * *", "timezone": "Europe/Atlantis"}}, 400, "#/schedule/timezone"),
        ({"target": {"type": "http", "url": "ftp://example.com/x"}}, 400, "#/target/url"),
        ({"target": {"type": "http", "url": "file:///etc/passwd"}}, 400, "#/target/url"),
        ({"target": {"type": "carrier-pigeon"}}, 400, "#/target/type"),
        ({"payload": "x" * (128 * 1024 + 1)}, 413, "#/payload"),
        ({"job_id": "no spaces"}, 400, "#/job_id"),
    ],
)
def test_a_bad_request_names_the_field_and_writes_nothing(
    stack: Stack, raw: RawClient, change: dict[str, Any], status: int, pointer: str
) -> None:
    before = stored(stack)
    answer = raw.post("/v1/jobs", {**GOOD, **change})
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/problem+json"
    assert pointer in [problem["pointer"] for problem in answer.body["errors"]]
    assert all(problem["detail"] for problem in answer.body["errors"])
    assert stored(stack) == before


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", json.dumps("text").encode()])
def test_a_body_that_is_no_json_object_is_a_400(raw: RawClient, body: bytes) -> None:
    answer = raw.call("POST", "/v1/jobs", body, {"Content-Type": "application/json"})
    assert answer.status == 400
    assert answer.body["status"] == 400


@pytest.mark.parametrize(
    "header",
    [None, "Bearer", "Bearer nonsense", "Bearer crl_000000000000_secret", "Basic Zm9vOmJhcg=="],
)
def test_no_key_and_a_wrong_key_are_a_401(stack: Stack, header: str | None) -> None:
    anonymous = RawClient(stack.api_url, None)
    answer = anonymous.call("GET", "/v1/jobs", headers={"Authorization": header} if header is not None else {})
    assert answer.status == 401
    assert answer.body["title"]
    assert "www-authenticate" in answer.headers


def test_a_cut_off_key_is_a_401(stack: Stack) -> None:
    assert RawClient(stack.api_url, stack.key[:-1]).get("/v1/jobs").status == 401


def test_a_revoked_key_is_a_401(stack: Stack) -> None:
    """Revoked before its first use here, so that no cache of the API knows it."""
    key_id, text = another_key(stack)
    endpoints.dynamodb(stack.endpoint).update_item(
        TableName=stack.outputs["AccessTable"],
        Key={"pk": {"S": f"key#{key_id}"}},
        UpdateExpression="SET revoked_at = :at",
        ExpressionAttributeValues={":at": {"N": "1"}},
    )
    assert RawClient(stack.api_url, text).get("/v1/jobs").status == 401


def another_key(stack: Stack) -> tuple[str, str]:
    text = issue_demo_key(stack.endpoint, stack.outputs)
    return text.split("_")[1], text


def test_health_needs_no_key(stack: Stack) -> None:
    answer = RawClient(stack.api_url, None).get("/v1/health")
    assert answer.status == 200
    assert answer.body["tzdata"] >= "2026c"


def test_an_unknown_route_and_a_wrong_method_are_problems(raw: RawClient) -> None:
    assert raw.get("/v1/nonsense").status == 404
    wrong = raw.call("PUT", "/v1/health")
    assert (wrong.status, wrong.headers.get("allow")) == (405, "GET")
