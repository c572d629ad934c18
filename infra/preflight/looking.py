"""What an account answers. Each question stands alone: a missing right leaves one answer open and no other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.preflight.judging import ROLES, Account

#: Makes a client of boto3 by the name of its service.
Clients = Callable[[str], Any]
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
#: How AWS calls a quota: by service, words of its name. A name survives what a code of eight letters hides.
FARGATE_VCPUS = ("fargate", "Fargate On-Demand vCPU")
MOST_TABLES = ("dynamodb", "Maximum number of tables")
PUT_EVENTS = ("events", "PutEvents")


class NotSaid(Exception):
    """The answer has not what was asked for."""


def look(clients: Clients, region: str) -> Account:
    """Reads alone: nothing is made or changed."""
    answers: dict[str, Any] = {}
    silent: dict[str, str] = {}

    def ask(members: tuple[str, ...], question: Callable[[], tuple[Any, ...]]) -> None:
        try:
            answers.update(zip(members, question(), strict=True))
        except (BotoCoreError, ClientError, NotSaid) as failure:
            silent.update(dict.fromkeys(members, str(failure)))

    ask(("concurrent_executions", "unreserved_executions"), lambda: _executions(clients("lambda")))
    ask(("fargate_vcpus",), lambda: (_quota(clients, *FARGATE_VCPUS),))
    ask(("most_tables",), lambda: (_quota(clients, *MOST_TABLES),))
    ask(("tables",), lambda: (_tables(clients("dynamodb")),))
    ask(("put_events_a_second",), lambda: (_quota(clients, *PUT_EVENTS),))
    ask(("zones",), lambda: (_zones(clients("ec2")),))
    ask(("roles",), lambda: (_roles(clients("iam")),))
    ask(("bootstrap_version",), lambda: (_bootstrap(clients("ssm")),))
    return Account(region=region, silent=silent, **answers)


def _executions(client: Any) -> tuple[float, float]:
    limit = client.get_account_settings()["AccountLimit"]
    return limit["ConcurrentExecutions"], limit["UnreservedConcurrentExecutions"]


def _quota(clients: Clients, service: str, words: str) -> float:
    """What the account has; where it never asked for more, what every account has."""
    client = clients("service-quotas")
    for operation in ("list_service_quotas", "list_aws_default_service_quotas"):
        for page in client.get_paginator(operation).paginate(ServiceCode=service):
            for quota in page["Quotas"]:
                if words in quota["QuotaName"]:
                    value: float = quota["Value"]
                    return value
    raise NotSaid(f"Service Quotas names no {words} of {service}")


def _tables(client: Any) -> int:
    return sum(len(page["TableNames"]) for page in client.get_paginator("list_tables").paginate())


def _zones(client: Any) -> Mapping[str, str]:
    asked = [{"Name": "zone-type", "Values": ["availability-zone"]}, {"Name": "state", "Values": ["available"]}]
    zones = client.describe_availability_zones(Filters=asked)["AvailabilityZones"]
    return {zone["ZoneName"]: zone["ZoneId"] for zone in sorted(zones, key=lambda zone: str(zone["ZoneName"]))}


def _roles(client: Any) -> frozenset[str]:
    return frozenset(role for role in ROLES if _has_role(client, role))


def _has_role(client: Any, role: str) -> bool:
    try:
        client.get_role(RoleName=role)
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchEntity":
            return False
        raise
    return True


def _bootstrap(client: Any) -> int | None:
    """None: there is none."""
    try:
        return int(client.get_parameter(Name=BOOTSTRAP_PARAMETER)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            return None
        raise
