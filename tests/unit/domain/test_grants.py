"""What an owner may call: by default nothing of AWS, and never what is Carillon's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.grants import AWS, HTTP, LAMBDA, SECRET, Grant, GrantRules, NotGranted, OwnResources, Use, new_grant
from shared.domain.instants import Instant

SQS = "arn:aws:sqs:eu-central-1:123456789012:"
FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:"
ROLE = "arn:aws:iam::123456789012:role/orders"
OWN = OwnResources(("jobs-table-1A", "lane-default-2B", "Carillon-*"))
RULES = GrantRules(own=OWN)
STRICT = replace(RULES, is_http_open=False)


def grant(target_type: str, resource: str, role_arn: str | None = None) -> Grant:
    return Grant("acme", f"id-{resource}", target_type, resource, Instant(0), "root", role_arn)


def reason_of(judged: object) -> str:
    assert isinstance(judged, NotGranted)
    return judged.detail


@pytest.mark.parametrize(("kind", "resource"), [(LAMBDA, FUNCTION + "f"), (AWS, SQS + "orders"), (SECRET, "arn:x")])
def test_without_a_grant_nothing_of_aws_may_be_called(kind: str, resource: str) -> None:
    assert f"no grant of type {kind}" in reason_of(RULES.judge([Use(kind, resource)], []))


def test_a_host_needs_a_grant_only_where_the_deployment_says_so() -> None:
    use = Use(HTTP, "example.com")

    assert RULES.judge([use], []) == {}
    assert not RULES.needs_grant(use)
    assert "no grant" in reason_of(STRICT.judge([use], []))


@pytest.mark.parametrize(
    ("granted", "asked", "is_covered"),
    [
        ("orders", "orders", True),
        ("orders", "orders-2", False),
        ("orders", "order", False),
        ("orders*", "orders-2", True),
        ("orders-*", "orders", False),
        ("*", "orders", True),
    ],
)
def test_an_arn_is_covered_as_a_whole_or_by_its_beginning(granted: str, asked: str, is_covered: bool) -> None:
    judged = RULES.judge([Use(AWS, SQS + asked)], [grant(AWS, SQS + granted)])

    assert isinstance(judged, NotGranted) != is_covered


@pytest.mark.parametrize(
    ("granted", "asked", "is_covered"),
    [
        ("example.com", "example.com", True),
        ("example.com", "hooks.example.com", False),
        ("*.example.com", "hooks.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "evilexample.com", False),
        ("*.example.com", "example.com.evil.org", False),
    ],
)
def test_a_host_is_covered_by_its_name_or_its_domain(granted: str, asked: str, is_covered: bool) -> None:
    judged = STRICT.judge([Use(HTTP, asked)], [grant(HTTP, granted)])

    assert isinstance(judged, NotGranted) != is_covered


def test_a_grant_of_one_type_is_none_of_another() -> None:
    assert isinstance(RULES.judge([Use(AWS, FUNCTION + "f")], [grant(LAMBDA, FUNCTION + "f")]), NotGranted)


def test_everything_that_is_called_must_be_granted() -> None:
    uses = [Use(AWS, SQS + "a"), Use(AWS, SQS + "b")]

    assert "b" in reason_of(RULES.judge(uses, [grant(AWS, SQS + "a")]))
    assert RULES.judge(uses, [grant(AWS, SQS + "a"), grant(AWS, SQS + "b")]) == {AWS: None}


def test_the_grant_that_says_most_decides_the_role() -> None:
    grants = [grant(AWS, SQS + "*", "wide"), grant(AWS, SQS + "ord*", ROLE), grant(AWS, SQS + "o*", "wider")]

    assert RULES.judge([Use(AWS, SQS + "orders")], grants) == {AWS: ROLE}
    assert RULES.judge([Use(AWS, SQS + "orders")], [*grants, grant(AWS, SQS + "orders")]) == {AWS: None}


def test_one_call_has_one_role_and_a_secret_may_have_another() -> None:
    grants = [grant(AWS, SQS + "a", ROLE), grant(AWS, SQS + "b"), grant(SECRET, "arn:s", "reader")]

    assert "another role" in reason_of(RULES.judge([Use(AWS, SQS + "a"), Use(AWS, SQS + "b")], grants))
    assert RULES.judge([Use(AWS, SQS + "a"), Use(SECRET, "arn:s")], grants) == {AWS: ROLE, SECRET: "reader"}


HOOK = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf"
TASK = "arn:aws:ecs:eu-central-1:123456789012:task-definition/orders:7"
COMMAND = "overrides.containerOverrides[].command[]"


@pytest.mark.parametrize(
    ("members", "is_granted"),
    [
        ((), False),
        ((COMMAND,), True),
        ((f"{COMMAND}=report",), True),
        ((f"{COMMAND}=other",), False),
        (("overrides.containerOverrides[]", "overrides"), False),
    ],
)
def test_a_job_sets_of_a_task_what_the_grant_names(members: tuple[str, ...], is_granted: bool) -> None:
    granted = replace(grant(AWS, TASK), members=members)

    judged = RULES.judge([Use(AWS, TASK, members=((COMMAND, "report"),))], [granted])

    assert isinstance(judged, NotGranted) is not is_granted
    if not is_granted:
        assert COMMAND in reason_of(judged)


@pytest.mark.parametrize(
    ("hosts", "is_granted"),
    [
        (("hooks.example.com",), True),
        (("*.example.com",), True),
        (("any",), True),
        # From before they were asked for.
        ((), True),
        (("example.com",), False),
        (("*.example.net", "other.example.com"), False),
    ],
)
def test_a_secret_is_carried_to_the_hosts_that_its_grant_names(hosts: tuple[str, ...], is_granted: bool) -> None:
    judged = RULES.judge([Use(SECRET, HOOK, host="hooks.example.com")], [replace(grant(SECRET, HOOK), hosts=hosts)])

    assert isinstance(judged, NotGranted) is not is_granted
    if not is_granted:
        assert "carried to hooks.example.com" in reason_of(judged)


@pytest.mark.parametrize(
    "resource",
    [
        SQS + "lane-default-2B",
        FUNCTION + "Carillon-worker:live",
        "arn:aws:dynamodb:eu-central-1:123456789012:table/jobs-table-1A",
        "arn:aws:ecs:eu-central-1:123456789012:cluster/Carillon-cluster",
    ],
)
def test_what_is_carillons_own_is_called_by_no_job_even_with_a_grant(resource: str) -> None:
    judged = RULES.judge([Use(AWS, resource)], [grant(AWS, resource), grant(AWS, resource[:-3] + "*")])

    assert "Carillon's own" in reason_of(judged)


def made(**document: Any) -> Grant:
    return new_grant(document, owner_id="acme", grant_id="g", by="key:a", now=Instant(7), own=OWN)


@pytest.mark.parametrize(
    "document",
    [
        {"target_type": AWS, "resource": SQS + "orders"},
        {"target_type": AWS, "resource": SQS + "orders-*", "role_arn": ROLE},
        {"target_type": LAMBDA, "resource": FUNCTION + "report:*"},
        {
            "target_type": SECRET,
            "resource": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-*",
            "hosts": ["hooks.example.com", "*.example.net"],
        },
        {"target_type": HTTP, "resource": "*.example.com"},
        {"target_type": HTTP, "resource": "hooks.internal"},
        {"target_type": AWS, "resource": TASK, "members": [COMMAND, "count=2"]},
    ],
)
def test_a_grant_is_made_as_it_is_asked_for(document: dict[str, Any]) -> None:
    found = made(**document)

    assert (found.owner_id, found.grant_id, found.created_by, found.created_at) == ("acme", "g", "key:a", 7)
    assert (found.target_type, found.resource) == (document["target_type"], document["resource"])
    assert found.role_arn == document.get("role_arn")
    assert list(found.members) == document.get("members", [])


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({}, "#/target_type"),
        ({"target_type": HTTP, "resource": "example.com", "members": ["count"]}, "#/members"),
        ({"target_type": AWS, "resource": TASK, "members": "count"}, "#/members"),
        ({"target_type": AWS, "resource": TASK, "members": ["a b"]}, "#/members"),
        ({"target_type": AWS, "resource": TASK, "members": ["count"] * 51}, "#/members"),
        ({"target_type": "handler", "resource": "echo"}, "#/target_type"),
        ({"target_type": AWS}, "#/resource"),
        ({"target_type": AWS, "resource": "*"}, "#/resource"),
        ({"target_type": AWS, "resource": "arn:aws:sqs:*:123456789012:orders"}, "#/resource"),
        ({"target_type": AWS, "resource": "arn:aws:sqs:eu-central-1:*:orders"}, "#/resource"),
        ({"target_type": AWS, "resource": "arn:aws:sqs:eu-central-1:123456789012:or*ers"}, "#/resource"),
        ({"target_type": AWS, "resource": "arn:aws:secretsmanager:eu-central-1:123456789012:secret:s"}, "#/resource"),
        ({"target_type": SECRET, "resource": SQS + "orders", "hosts": ["any"]}, "#/resource"),
        ({"target_type": SECRET, "resource": HOOK}, "#/hosts"),
        ({"target_type": SECRET, "resource": HOOK, "hosts": ["Example.com"]}, "#/hosts"),
        ({"target_type": SECRET, "resource": HOOK, "hosts": "any"}, "#/hosts"),
        ({"target_type": AWS, "resource": SQS + "orders", "hosts": ["any"]}, "#/hosts"),
        ({"target_type": LAMBDA, "resource": SQS + "orders"}, "#/resource"),
        ({"target_type": LAMBDA, "resource": "report"}, "#/resource"),
        ({"target_type": HTTP, "resource": "https://example.com"}, "#/resource"),
        ({"target_type": HTTP, "resource": "*"}, "#/resource"),
        ({"target_type": HTTP, "resource": "example.com", "role_arn": ROLE}, "#/role_arn"),
        ({"target_type": AWS, "resource": SQS + "orders", "role_arn": "orders"}, "#/role_arn"),
        (
            {"target_type": AWS, "resource": SQS + "orders", "role_arn": "arn:aws:iam::123456789012:role/Carillon-x"},
            "#/role_arn",
        ),
        ({"target_type": AWS, "resource": SQS + "orders", "role": ROLE}, "#/role"),
    ],
)
def test_a_grant_that_says_too_little_or_too_much_is_refused(document: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        made(**document)

    assert [problem.pointer for problem in raised.value.problems] == [pointer]


@pytest.mark.parametrize(
    "name", ["lane-default-2B", "lane-default*", "lane*", "l*", "Carillon-x", "Carillon-*", "Car*"]
)
def test_no_grant_covers_what_is_carillons_own(name: str) -> None:
    with pytest.raises(InvalidRequest, match="never granted"):
        made(target_type=AWS, resource=SQS + name)


@pytest.mark.parametrize("resource", [FUNCTION + "*", FUNCTION + "Carillon-worker:*", SQS + "*", FUNCTION[:-9] + "*"])
def test_a_grant_of_everything_is_none(resource: str) -> None:
    with pytest.raises(InvalidRequest):
        made(target_type=LAMBDA if "function" in resource else AWS, resource=resource)


def test_a_name_that_only_looks_like_carillons_own_can_be_granted() -> None:
    for name in ("lane-default-2", "lane-default-2BB", "my-Carillon-x", "lane-other*"):
        assert made(target_type=AWS, resource=SQS + name).resource == SQS + name
