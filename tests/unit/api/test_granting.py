"""A job is stored only when its owner may call what it calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from functions.api.resolving import build
from shared.domain.addresses import HostPort
from shared.domain.grants import AWS, HTTP, LAMBDA, Grant, GrantRules
from shared.domain.instants import Instant
from tests.unit.api.world import HTTP as WEBHOOK
from tests.unit.api.world import JOB, World, refused

FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:report"
CALL = {"type": "lambda", "function_arn": FUNCTION}
SEND = {
    "type": "aws",
    "service": "sqs",
    "operation": "SendMessage",
    "parameters": {"QueueUrl": "https://sqs.eu-central-1.amazonaws.com/123456789012/orders"},
}
SECRET_ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf"


def grant(world: World, target_type: str = LAMBDA, resource: str = FUNCTION, owner_id: str = "acme") -> None:
    assert world.access.put_grant(Grant(owner_id, resource, target_type, resource, Instant(0), "root"))


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        (CALL, "#/target/function_arn"),
        (SEND, "#/target/parameters/QueueUrl"),
        ({**WEBHOOK, "auth": {"secret_ref": SECRET_ARN}}, "#/target/auth/secret_ref"),
    ],
)
def test_a_target_without_a_grant_is_refused_by_its_place(target: dict[str, Any], pointer: str) -> None:
    world = World()
    grant(world, owner_id="another")
    grant(world, resource=f"{FUNCTION}-2")

    document = refused(world, {**JOB, "target": target})

    assert document["status"] == 400
    assert [each["pointer"] for each in document["errors"]] == [pointer]
    assert "no grant" in document["detail"]
    assert "an admin adds one by POST /v1/grants" in document["detail"]


def test_a_target_with_a_grant_is_stored() -> None:
    world = World()
    grant(world)
    grant(world, AWS, "arn:aws:sqs:eu-central-1:123456789012:ord*")

    for number, target in enumerate((CALL, SEND)):
        assert world.send("POST", "/v1/jobs", {**JOB, "job_id": f"job-{number}", "target": target}).status == 201


def test_a_change_of_target_needs_a_grant_and_no_other_change_does() -> None:
    world = World()
    grant(world)
    world.create(target=CALL)
    world.access.delete_grant("acme", FUNCTION)

    path = "/v1/jobs/nightly-report"
    assert world.send("PATCH", path, {"name": "still mine"}).status == 200
    assert world.send("POST", f"{path}/pause").status == 200
    assert world.send("POST", f"{path}/resume").status == 200
    reply = world.send("PATCH", path, {"target": {"function_arn": f"{FUNCTION}:live"}})
    assert (reply.status, reply.pointers) == (400, ["#/target/function_arn"])
    assert world.send("DELETE", path).status == 200


def test_a_cancelled_job_comes_back_only_with_a_grant() -> None:
    world = World()
    grant(world)
    world.create(target=CALL)
    world.send("DELETE", "/v1/jobs/nightly-report")
    world.access.delete_grant("acme", FUNCTION)

    assert world.send("POST", "/v1/jobs", {**JOB, "target": CALL}).status == 400
    assert world.send("PUT", "/v1/jobs/nightly-report", {**JOB, "target": CALL}).status == 400


@pytest.mark.parametrize(
    "url",
    [
        *[
            "http://169.254.169.254/",
            "http://169.254.170.2/v2",
            "http://[::ffff:169.254.169.254]/",
            "http://2852039166/",
        ],
        *["http://[fd00:ec2::254]/", "http://0x7f000001/", "http://localhost:8080/", "https://10.0.0.5/hook"],
        *["ftp://x", "file:///etc/passwd", "http://0177.0.0.1/", "http://127.1/", "http://user@example.com/"],
    ],
)
def test_a_literal_address_that_no_webhook_may_reach_is_refused_at_create(url: str) -> None:
    """B65."""
    document = refused(World(), {**JOB, "target": {"type": "http", "url": url}})

    assert [each["pointer"] for each in document["errors"]] == ["#/target/url"]


def test_a_host_needs_a_grant_only_where_the_deployment_says_so() -> None:
    world = World()
    strict = build(replace(world.backend(), grant_rules=GrantRules(is_http_open=False)))

    assert world.send("POST", "/v1/jobs", JOB).status == 201
    document = {**JOB, "job_id": "another"}
    assert world.send("POST", "/v1/jobs", document, handler=strict).pointers == ["#/target/url"]
    grant(world, HTTP, "*.example.com")
    assert world.send("POST", "/v1/jobs", document, handler=strict).status == 400
    grant(world, HTTP, "example.com")
    assert world.send("POST", "/v1/jobs", document, handler=strict).status == 201


def test_an_internal_host_may_be_named_as_the_deployment_spells_it() -> None:
    world = World()
    local = build(replace(world.backend(), internal_targets=frozenset({HostPort("127.0.0.1", None)})))
    document = {**JOB, "target": {"type": "http", "url": "http://127.0.0.1:8099/hook"}}

    told = refused(world, document)
    assert (told["status"], "internal_targets" in told["detail"]) == (400, True)
    assert world.send("POST", "/v1/jobs", document, handler=local).status == 201
