"""The least permissions of who deploys name what the templates are made of, and nothing that AWS has not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import pytest

from infra.deployer.__main__ import main
from infra.deployer.actions import ACTIONS
from infra.deployer.documents import MOST_CHARACTERS, documents
from tests.infra.synthesis import Synthesis, synthesise

#: Actions that are no operation of the service's API.
NO_OPERATIONS = {
    "budgets:ModifyBudget",
    "budgets:ViewBudget",
    "dynamodb:PartiQLInsert",
    "dynamodb:PartiQLUpdate",
    "iam:PassRole",
    *(f"logs:{verb}LogDelivery" for verb in ("Create", "Get", "Update", "Delete")),
    "logs:ListLogDeliveries",
    *(f"apigateway:{verb}" for verb in ("DELETE", "GET", "PATCH", "POST", "PUT", "TagResource")),
}
#: Where the name in an action is not the client's.
CLIENTS = {"servicequotas": "service-quotas", "s3": "s3"}


@pytest.fixture(scope="module")
def types(dev: Synthesis, prod: Synthesis, chosen: Synthesis) -> set[str]:
    """Of every resource that some settings make."""
    tokens = synthesise("prod", auth={"mode": "jwt", "issuer": "https://id.example.com/", "audience": ["carillon"]})
    templates = [each for made in (dev, prod, chosen, tokens) for each in (made.data, made.service)]
    return {resource["Type"] for template in templates for resource in template.to_json()["Resources"].values()}


def statements(document: str, name: str = "Carillon") -> Iterator[dict[str, Any]]:
    yield from documents(name)[document]["Statement"]


def actions_of(*names: str) -> set[str]:
    return {action for name in names for each in statements(name) for action in each["Action"]}


def test_every_type_of_the_templates_has_its_actions_and_no_other_type_has(types: set[str]) -> None:
    assert ACTIONS.keys() == types


def test_cloudformation_is_allowed_what_the_types_need_and_no_more() -> None:
    wanted = set().union(*ACTIONS.values()) | {"iam:CreateServiceLinkedRole", "ssm:GetParameters"}
    assert actions_of("execution-1", "execution-2") == wanted


@cache
def operations(client: str) -> frozenset[str]:
    return frozenset(botocore.session.get_session().get_service_model(client).operation_names)


@pytest.mark.parametrize("name", documents("Carillon"))
def test_actions_are_operations_that_aws_has(name: str) -> None:
    for action in actions_of(name) - NO_OPERATIONS:
        service, _, operation = action.partition(":")
        assert operation in operations(CLIENTS.get(service, service)), action


@pytest.mark.parametrize("name", documents("Carillon"))
def test_iam_takes_each_document(name: str) -> None:
    text = json.dumps(documents("C" * 64)[name], separators=(",", ":"))
    assert len(text) <= MOST_CHARACTERS


def test_roles_are_made_and_handed_over_under_the_name_of_the_stacks_alone() -> None:
    of_roles = [each for each in statements("execution-1", "Team") if any(a.startswith("iam:") for a in each["Action"])]
    assert {resource for each in of_roles for resource in each["Resource"]} == {"arn:aws:iam::*:role/Team*"}
    [passed] = [each for each in of_roles if "iam:PassRole" in each["Action"]]
    trusted = passed["Condition"]["StringEquals"]["iam:PassedToService"]
    assert trusted == ["ecs-tasks.amazonaws.com", "lambda.amazonaws.com"]


def test_roles_of_the_templates_trust_nobody_else(dev: Synthesis, chosen: Synthesis) -> None:
    roles = [*dev.of_type("AWS::IAM::Role").values(), *chosen.of_type("AWS::IAM::Role").values()]
    trusted = {
        statement["Principal"]["Service"]
        for role in roles
        for statement in role["AssumeRolePolicyDocument"]["Statement"]
        if "Service" in statement["Principal"]
    }
    assert trusted == {"ecs-tasks.amazonaws.com", "lambda.amazonaws.com"}


def test_it_is_printed_as_a_document(capsys: pytest.CaptureFixture[str]) -> None:
    main(["deployer", "--name", "Team"])
    assert json.loads(capsys.readouterr().out) == documents("Team")["deployer"]
