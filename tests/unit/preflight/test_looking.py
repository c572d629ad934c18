"""What is asked of an account, with stubs of boto3's clients that check requests and answers against AWS's shapes."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from infra.preflight.__main__ import least_bootstrap, main, text_of
from infra.preflight.judging import ROLES, Judgement, Level
from infra.preflight.looking import BOOTSTRAP_PARAMETER, look

SERVICES = ("lambda", "service-quotas", "dynamodb", "ec2", "iam", "ssm")
LIMITS = {"AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 900}}


class Stubs:
    """A stubbed client for each service; what is not expected of one is an error."""

    def __init__(self) -> None:
        self.clients = {name: _client(name) for name in SERVICES}
        self.stubs = {name: Stubber(client) for name, client in self.clients.items()}
        for stub in self.stubs.values():
            stub.activate()

    def client(self, name: str) -> Any:
        return self.clients[name]

    def say(self, service: str, operation: str, answer: dict[str, Any], asked: dict[str, Any] | None = None) -> None:
        self.stubs[service].add_response(operation, answer, asked)

    def refuse(self, service: str, operation: str, code: str) -> None:
        self.stubs[service].add_client_error(operation, service_error_code=code)


def _client(name: str) -> Any:
    return boto3.client(
        name,
        region_name="eu-central-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",  # type: ignore[call-overload]
    )


def quotas(**named: float) -> dict[str, Any]:
    return {"Quotas": [{"QuotaName": name.replace("_", " "), "Value": value} for name, value in named.items()]}


@pytest.fixture
def stubs() -> Stubs:
    """An account that answers everything."""
    made = Stubs()
    made.say("lambda", "get_account_settings", LIMITS)
    made.say("service-quotas", "list_service_quotas", {"Quotas": []}, {"ServiceCode": "fargate"})
    # Never raised in this account: then the default counts.
    vcpus = {"Quotas": [{"QuotaName": "Fargate On-Demand vCPU resource count", "Value": 6.0}]}
    made.say("service-quotas", "list_aws_default_service_quotas", vcpus, {"ServiceCode": "fargate"})
    tables = quotas(Global_Secondary_Indexes=20, Maximum_number_of_tables=2500)
    made.say("service-quotas", "list_service_quotas", tables, {"ServiceCode": "dynamodb"})
    events = quotas(PutEvents_throttle_limit_in_transactions_per_second=600)
    made.say("service-quotas", "list_service_quotas", events, {"ServiceCode": "events"})
    made.say("dynamodb", "list_tables", {"TableNames": ["jobs", "runs"], "LastEvaluatedTableName": "runs"})
    made.say("dynamodb", "list_tables", {"TableNames": ["fleet"]}, {"ExclusiveStartTableName": "runs"})
    zones = [{"ZoneName": "eu-central-1b", "ZoneId": "euc1-az3"}, {"ZoneName": "eu-central-1a", "ZoneId": "euc1-az2"}]
    made.say("ec2", "describe_availability_zones", {"AvailabilityZones": zones})
    for number, role in enumerate(ROLES):
        if number == 0:
            made.say("iam", "get_role", {"Role": _role(role)}, {"RoleName": role})
        else:
            made.refuse("iam", "get_role", "NoSuchEntity")
    made.say("ssm", "get_parameter", {"Parameter": {"Value": "25"}}, {"Name": BOOTSTRAP_PARAMETER})
    return made


def _role(name: str) -> dict[str, Any]:
    arn = f"arn:aws:iam::123456789012:role/{name}"
    made = "2026-01-01T00:00:00Z"
    return {"Path": "/", "RoleName": name, "RoleId": "A" * 16, "Arn": arn, "CreateDate": made}


def test_every_answer_is_read(stubs: Stubs) -> None:
    account = look(stubs.client, "eu-central-1")
    assert account.silent == {}
    assert (account.concurrent_executions, account.unreserved_executions) == (1000, 900)
    assert (account.fargate_vcpus, account.most_tables, account.put_events_a_second) == (6, 2500, 600)
    assert account.tables == 3
    assert dict(account.zones or {}) == {"eu-central-1a": "euc1-az2", "eu-central-1b": "euc1-az3"}
    assert account.roles == frozenset({"AWSServiceRoleForECS"})
    assert account.bootstrap_version == 25


def test_one_that_is_denied_leaves_the_others(stubs: Stubs) -> None:
    stubs.stubs["lambda"] = Stubber(_client("lambda"))
    stubs.clients["lambda"] = stubs.stubs["lambda"].client
    stubs.stubs["lambda"].activate()
    stubs.refuse("lambda", "get_account_settings", "AccessDeniedException")
    account = look(stubs.client, "eu-central-1")
    assert account.concurrent_executions is None
    assert "AccessDeniedException" in account.silent["concurrent_executions"]
    assert account.tables == 3


def test_a_region_without_bootstrap_is_no_failure_of_the_question() -> None:
    stubs = Stubs()
    stubs.refuse("ssm", "get_parameter", "ParameterNotFound")
    account = look(stubs.client, "eu-central-1")
    assert account.bootstrap_version is None
    assert "bootstrap_version" not in account.silent


def test_a_quota_that_has_another_name_by_now_is_unknown() -> None:
    stubs = Stubs()
    for service in ("fargate", "dynamodb", "events"):
        for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
            stubs.say("service-quotas", operation, quotas(Renamed=1), {"ServiceCode": service})
    assert "names no" in look(stubs.client, "eu-central-1").silent["fargate_vcpus"]


def test_the_newest_stack_says_what_the_bootstrap_must_be() -> None:
    stacks = [{"artifacts": {"a": {"properties": {"requiresBootstrapStackVersion": 8}}, "b": {}}}]
    assert least_bootstrap(stacks) == 8
    assert least_bootstrap([]) == 6


def test_lines_end_with_the_count_of_problems() -> None:
    fine = Judgement(Level.OK, "fine")
    assert text_of([fine]).splitlines() == ["ok       fine", "nothing is in the way that could be seen"]
    assert text_of([Judgement(Level.PROBLEM, "bad", "mend it")]).splitlines() == [
        "problem  bad; mend it",
        "1 problem(s)",
    ]


def test_an_environment_that_there_is_none_of_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--environment", "moon"]) == 2
    assert "there is no environment 'moon'" in capsys.readouterr().err
