"""Carillon as a construct of somebody else's app."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_sqs as sqs
from aws_cdk.assertions import Template

from infra.carillon import Carillon
from infra.environments import DEV, PROD
from infra.settings import override
from shared.schema import TABLES
from tests.infra.synthesis import TOLD, context, only


@pytest.fixture(scope="module")
def foreign() -> tuple[Template, Carillon, Carillon]:
    """One stack of another team, with two Carillons and a queue that jobs may send to."""
    stack = Stack(App(context=context("dev")), "Orders")
    orders = sqs.Queue(stack, "Queue")
    first = Carillon(stack, "Jobs", environment=DEV)
    second = Carillon(stack, "Reports", environment=override(PROD, {"permission_boundary": "TeamBoundary", **TOLD}))
    first.allow_target(orders.queue_arn, "sqs:SendMessage")
    return Template.from_stack(stack), first, second


def resources(template: Template, kind: str) -> dict[str, Any]:
    return dict(template.find_resources(kind))


def test_it_brings_everything_along_and_looks_nothing_up(foreign: tuple[Template, Carillon, Carillon]) -> None:
    template, _, _ = foreign

    template.resource_count_is("AWS::DynamoDB::Table", 2 * len(TABLES))
    template.resource_count_is("AWS::ECS::Service", 4)
    template.resource_count_is("AWS::ApiGatewayV2::Api", 2)


def test_two_of_them_share_no_name_that_an_account_has_once(foreign: tuple[Template, Carillon, Carillon]) -> None:
    template, first, second = foreign
    families = [each["Properties"]["Family"] for each in resources(template, "AWS::ECS::TaskDefinition").values()]
    named = {
        (kind, name)
        for kind, name in (
            ("AWS::DynamoDB::Table", "TableName"),
            ("AWS::SQS::Queue", "QueueName"),
            ("AWS::Lambda::Function", "FunctionName"),
            ("AWS::IAM::Role", "RoleName"),
            ("AWS::Logs::LogGroup", "LogGroupName"),
            ("AWS::CloudWatch::Alarm", "AlarmName"),
            ("AWS::CloudWatch::Dashboard", "DashboardName"),
            ("AWS::SNS::Topic", "TopicName"),
            ("AWS::ECS::Cluster", "ClusterName"),
            ("AWS::ECS::Service", "ServiceName"),
        )
        for each in resources(template, kind).values()
        if name in each.get("Properties", {})
    }

    assert len(set(families)) == len(families) == 4
    assert named == set()
    assert first.deployment != second.deployment


def test_the_metrics_of_one_ring_no_alarm_of_the_other(foreign: tuple[Template, Carillon, Carillon]) -> None:
    template, first, second = foreign
    written = json.dumps(resources(template, "AWS::CloudWatch::Alarm"))

    for carillon in (first, second):
        told = json.dumps(resources(template, "AWS::ECS::TaskDefinition"))
        assert f'"Carillon/{carillon.deployment}"' in written
        assert f'"CARILLON_DEPLOYMENT", "Value": "{carillon.deployment}"' in told


def test_jobs_reach_what_its_owner_allows_and_only_from_there(foreign: tuple[Template, Carillon, Carillon]) -> None:
    template, _, _ = foreign
    allowed = [
        policy
        for policy in resources(template, "AWS::IAM::Policy").values()
        if "Queue4A7E3555" in json.dumps(policy["Properties"]["PolicyDocument"])
    ]
    roles = [only(policy["Properties"]["Roles"])["Ref"] for policy in allowed]

    assert len(roles) == 2
    assert all(role.startswith("JobsWorker") for role in roles)


def test_a_boundary_of_one_binds_its_roles_alone(foreign: tuple[Template, Carillon, Carillon]) -> None:
    template, _, _ = foreign
    for name, role in resources(template, "AWS::IAM::Role").items():
        assert ("PermissionsBoundary" in role["Properties"]) == name.startswith("Reports")
