"""What an account's answers mean for a deployment."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.environments import DEV, PROD
from infra.preflight.judging import ROLES, Account, Level, executions_of, judge, vcpus_of
from infra.settings import Environment, override

FINE = Account(
    region="eu-central-1",
    concurrent_executions=1_000,
    unreserved_executions=1_000,
    fargate_vcpus=10,
    tables=12,
    most_tables=2_500,
    put_events_a_second=10_000,
    zones={"eu-central-1a": "euc1-az2", "eu-central-1b": "euc1-az3"},
    roles=frozenset(ROLES),
    bootstrap_version=25,
)
TOKYO = replace(
    FINE,
    region="ap-northeast-1",
    zones={"ap-northeast-1a": "apne1-az4", "ap-northeast-1b": "apne1-az3", "ap-northeast-1c": "apne1-az1"},
)


def problems(account: Account, environment: Environment = PROD) -> list[str]:
    judgements = judge(account, environment, least_bootstrap=8)
    assert all(each.advice for each in judgements if each.level is not Level.OK)
    return [each.line() for each in judgements if each.level is not Level.OK]


@pytest.mark.parametrize("environment", [DEV, PROD], ids=lambda each: each.name)
def test_an_old_account_takes_what_comes_by_default(environment: Environment) -> None:
    assert problems(FINE, environment) == []


@pytest.mark.parametrize(
    ("account", "expected"),
    [
        (replace(FINE, concurrent_executions=10, unreserved_executions=10), "Lambda: 10 concurrent executions"),
        (replace(FINE, unreserved_executions=executions_of(PROD) + 19), "Lambda: 1000 concurrent executions"),
        (replace(FINE, fargate_vcpus=vcpus_of(PROD) - 1), "Fargate: "),
        (replace(FINE, tables=2_496), "DynamoDB: 2496 of 2500"),
        (replace(FINE, put_events_a_second=199), "EventBridge: 199 PutEvents"),
        (
            replace(FINE, roles=frozenset({"AWSServiceRoleForECS"})),
            "AWSServiceRoleForApplicationAutoScaling_ECSService",
        ),
        (replace(FINE, bootstrap_version=None), "has not been bootstrapped"),
        (replace(FINE, bootstrap_version=7), "CDK bootstrap version 7, 8 is needed"),
        (TOKYO, "choose two of ap-northeast-1a, ap-northeast-1c"),
    ],
)
def test_what_is_in_the_way_is_one_line_with_what_to_do(account: Account, expected: str) -> None:
    [line] = problems(account)
    assert line.startswith("problem ")
    assert expected in line


def test_just_enough_is_enough() -> None:
    edge = replace(
        FINE,
        unreserved_executions=executions_of(PROD) + 20,
        fargate_vcpus=vcpus_of(PROD),
        tables=2_495,
        put_events_a_second=200,
        bootstrap_version=8,
    )
    assert problems(edge) == []


def test_a_reservation_must_leave_a_hundred() -> None:
    reserving = override(PROD, {"worker_reserved_concurrency": "lanes"})
    least = executions_of(reserving) + 100
    assert problems(replace(FINE, unreserved_executions=least), reserving) == []
    [line] = problems(replace(FINE, unreserved_executions=least - 1), reserving)
    assert "would be reserved, which AWS refuses" in line


def test_chosen_zones_must_have_fargate() -> None:
    zones = ["ap-northeast-1a", "ap-northeast-1c"]
    assert problems(TOKYO, override(PROD, {"network": {"availability_zones": zones}})) == []
    wrong = ["ap-northeast-1a", "ap-northeast-1b"]
    [line] = problems(TOKYO, override(PROD, {"network": {"availability_zones": wrong}}))
    assert "zones without Fargate" in line
    assert "ap-northeast-1b" in line


def test_without_events_their_quota_does_not_matter() -> None:
    assert problems(replace(FINE, put_events_a_second=1), override(PROD, {"events": "none"})) == []


def test_what_was_not_answered_is_unknown_and_says_why() -> None:
    members = ("concurrent_executions", "fargate_vcpus", "most_tables", "put_events_a_second", "zones", "roles")
    silent = dict.fromkeys((*members, "bootstrap_version"), "AccessDenied")
    lines = problems(Account(region="eu-central-1", silent=silent))
    assert len(lines) == 6 + len(ROLES)
    assert all(line.startswith("unknown ") and "AccessDenied" in line for line in lines)
