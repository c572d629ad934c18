from __future__ import annotations

from collections.abc import Callable

import pytest

from infra.permissions import OWN_TASK
from shared.schema import LANES
from tests.infra.synthesis import Synthesis, actions_of, as_list

#: AWS gives this action no resource of its own; only the role that pulls images has it.
WITHOUT_RESOURCE = ["ecr:GetAuthorizationToken"]
ENVIRONMENTS = ("local", "dev", "prod")


def dynamodb_actions(synthesis: Synthesis, role: object) -> set[str]:
    return {
        action.removeprefix("dynamodb:")
        for statement in synthesis.statements_of(role)
        for action in actions_of(statement)
        if action.startswith("dynamodb:")
    }


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_role_has_a_wildcard_action(synthesised: Callable[[str], Synthesis], environment: str) -> None:
    for statement in synthesised(environment).statements():
        assert not [action for action in actions_of(statement) if "*" in action]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_no_role_reaches_every_resource_but_where_aws_has_no_other(
    synthesised: Callable[[str], Synthesis], environment: str
) -> None:
    for statement in synthesised(environment).statements():
        if any("*" in str(resource) for resource in as_list(statement["Resource"])):
            assert actions_of(statement) in (WITHOUT_RESOURCE, [*OWN_TASK])


def test_no_role_has_a_managed_policy(prod: Synthesis) -> None:
    for role in prod.of_type("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role


def test_every_deployable_has_a_role_of_its_own(prod: Synthesis) -> None:
    functions = [str(each["Role"]) for each in prod.of_type("AWS::Lambda::Function").values()]
    tasks = [str(each["TaskRoleArn"]) for each in prod.of_type("AWS::ECS::TaskDefinition").values()]

    assert len({*functions, *tasks}) == len(functions) + len(tasks) == 5


def test_the_api_sends_to_no_queue_and_of_the_fleet_it_shows_all_and_writes_the_row_of_control(prod: Synthesis) -> None:
    statements = prod.statements_of(prod.function("functions.api.app.handler")["Role"])

    assert not [action for each in statements for action in actions_of(each) if action.startswith("sqs:")]
    of_fleet = [each for each in statements if "Fleet" in str(each["Resource"])]
    assert [actions_of(each) for each in of_fleet] == [["dynamodb:GetItem", "dynamodb:Query"], ["dynamodb:UpdateItem"]]
    assert of_fleet[1]["Condition"] == {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["control"]}}


def test_a_node_sends_and_does_not_receive(prod: Synthesis) -> None:
    statements = prod.statements_of(prod.task("scheduler")["TaskRoleArn"])

    assert {action for each in statements for action in actions_of(each) if action.startswith("sqs:")} == {
        "sqs:SendMessage"
    }


def sent_to(synthesis: Synthesis, role: object) -> set[str]:
    """The queues that the role may send to."""
    return {
        resource["Fn::GetAtt"][0]
        for statement in synthesis.statements_of(role)
        if "sqs:SendMessage" in actions_of(statement)
        for resource in as_list(statement["Resource"])
    }


def test_both_hosts_of_the_worker_may_do_the_same_and_send_to_the_dead_letters_alone(prod: Synthesis) -> None:
    on_lambda = prod.function("functions.worker.lambda_host.handler")["Role"]
    on_ecs = prod.task("worker")["TaskRoleArn"]

    assert dynamodb_actions(prod, on_lambda) == dynamodb_actions(prod, on_ecs)
    for role in (on_lambda, on_ecs):
        actions = {action for each in prod.statements_of(role) for action in actions_of(each)}
        assert {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"} <= actions
        assert all("DeadLetters" in queue for queue in sent_to(prod, role))
        assert len(sent_to(prod, role)) == len(LANES)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_only_the_worker_on_ecs_protects_tasks_and_only_those_of_its_cluster(
    synthesised: Callable[[str], Synthesis], environment: str
) -> None:
    synthesis = synthesised(environment)
    found = [each for each in synthesis.statements() if actions_of(each) == [*OWN_TASK]]

    assert found == [
        each
        for each in synthesis.statements_of(synthesis.task("worker")["TaskRoleArn"])
        if actions_of(each) == [*OWN_TASK]
    ]
    [statement] = found
    assert "Cluster" in str(statement["Condition"]["ArnEquals"]["ecs:cluster"])


def test_what_settles_undelivered_messages_starts_nothing(prod: Synthesis) -> None:
    role = prod.function("functions.dead_letters.handler.handler")["Role"]

    received = [
        str(statement["Resource"])
        for statement in prod.statements_of(role)
        if "sqs:ReceiveMessage" in actions_of(statement)
    ]
    assert received
    assert all("Undelivered" in queue for queue in received)
    assert all("DeadLetters" in queue for queue in sent_to(prod, role))


def test_a_query_may_use_the_indexes_of_its_table(prod: Synthesis) -> None:
    scheduler = prod.statements_of(prod.task("scheduler")["TaskRoleArn"])
    api = prod.statements_of(prod.function("functions.api.app.handler")["Role"])

    assert "/index/by_next" in str(scheduler)
    assert "/index/by_owner" in str(api)
    assert "/index/failures" in str(api)
