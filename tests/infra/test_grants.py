"""What each deployable is told of grants: whether hosts need them, and what is Carillon's own."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

from infra.app import compose
from shared.domain.grants import OwnResources
from tests.infra.synthesis import TOLD, Synthesis, actions_of, context, synthesise

WORKER = "functions.worker.lambda_host.handler"
API = "functions.api.app.handler"


def variable_of(synthesis: Synthesis, handler: str, name: str) -> object:
    return synthesis.function(handler)["Environment"]["Variables"][name]


def test_the_queues_and_tables_of_a_deployment_are_its_own(prod: Synthesis) -> None:
    for handler in (WORKER, API):
        own = str(variable_of(prod, handler, "CARILLON_OWN_RESOURCES"))
        assert all(f"'{name}', 'QueueName'" in own for name in prod.of_type("AWS::SQS::Queue"))
        assert own.count("Table") >= 5


def test_no_function_of_a_deployment_can_be_granted(prod: Synthesis) -> None:
    """The API knows its own name from Lambda."""
    own = str(variable_of(prod, API, "CARILLON_OWN_RESOURCES"))

    for name, function in prod.of_type("AWS::Lambda::Function").items():
        assert (f"'{name}'" in own) == (function["Handler"] != API)


def test_nobody_can_be_granted_to_tell_lifecycle_events(prod: Synthesis) -> None:
    [bus] = prod.of_type("AWS::Events::EventBus")

    for handler in (WORKER, API):
        assert f"{{'Ref': '{bus}'}}" in str(variable_of(prod, handler, "CARILLON_OWN_RESOURCES"))


def patterns_in(variable: Any) -> list[str]:
    """What a joined value says literally, as far as it ends in a star."""
    separator, parts = variable["Fn::Join"]
    text = separator.join(part if isinstance(part, str) else "?" for part in parts)
    return [name for name in text.split(",") if name.endswith("*")]


@pytest.mark.parametrize("name", ["Carillon", "a-name-of-a-deployment-that-is-long"])
def test_no_role_of_a_deployment_can_be_granted(name: str) -> None:
    stacks = compose(App(context=context("prod", name=name, settings=TOLD)))
    synthesis = Synthesis(Template.from_stack(stacks.data), Template.from_stack(stacks.service))
    own = OwnResources(tuple(patterns_in(variable_of(synthesis, API, "CARILLON_OWN_RESOURCES"))))

    for stack in (stacks.data, stacks.service):
        roles = Template.from_stack(stack).find_resources("AWS::IAM::Role")
        for logical_id, role in roles.items():
            assert "RoleName" not in role.get("Properties", {})
            # As CloudFormation names it.
            made = f"{stack.stack_name[:24]}-{logical_id[:24]}-1ABCDEFGHIJK"
            assert own.touched_by(f"arn:aws:iam::123456789012:role/{made}"), made
    assert not own.touched_by("arn:aws:iam::123456789012:role/orders")


def test_hosts_need_grants_where_a_deployment_says_so(prod: Synthesis) -> None:
    strict = synthesise("dev", http_grants="required")

    for handler in (WORKER, API):
        assert variable_of(prod, handler, "CARILLON_HTTP_GRANTS") == "open"
        assert variable_of(strict, handler, "CARILLON_HTTP_GRANTS") == "required"


def test_a_task_is_started_with_the_roles_that_the_grant_names_and_no_others() -> None:
    task = "arn:aws:ecs:eu-west-1:123456789012:task-definition/orders:7"
    roles = [f"arn:aws:iam::123456789012:role/{name}" for name in ("orders-task", "orders-start")]
    granting = synthesise("dev", grants=[{"arn": task, "pass_roles": roles}])

    passing = [each for each in granting.statements() if "iam:PassRole" in actions_of(each)]

    assert len(passing) == 2
    for statement in passing:
        assert sorted(statement["Resource"]) == sorted(roles)
        assert statement["Condition"] == {"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}}
