"""The policy documents, put together from the actions of each type. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from infra.deployer.actions import ACTIONS

Document = dict[str, Any]
Statement = dict[str, Any]

#: Of a managed policy, blanks not counted.
MOST_CHARACTERS = 6_144
#: Whom roles of Carillon are handed to.
_TRUSTED = ("ecs-tasks.amazonaws.com", "lambda.amazonaws.com")
#: Whose roles AWS makes at the first use.
_LINKED = (
    "ecs.amazonaws.com",
    "ecs.application-autoscaling.amazonaws.com",
    "ops.apigateway.amazonaws.com",
    "contributorinsights.dynamodb.amazonaws.com",
)
#: Services whose resources carry the stack's name, and how their ARNs do; those of the others are told by ids.
_NAMED: Mapping[str, tuple[str, ...]] = {
    "dynamodb": ("arn:aws:dynamodb:*:*:table/{name}*",),
    "events": ("arn:aws:events:*:*:event-bus/{name}*",),
    "iam": ("arn:aws:iam::*:role/{name}*",),
    "sns": ("arn:aws:sns:*:*:{name}*",),
    "sqs": ("arn:aws:sqs:*:*:{name}*",),
}
#: The second document: what stands between the services, and what is seen of them.
_SECOND = frozenset(("ec2", "kms", "cloudwatch", "budgets", "application-autoscaling", "acm"))
_HAND_OVER = "iam:PassRole"
_ASSETS = "s3:GetObject"
_BOOTSTRAP = "arn:aws:ssm:*:*:parameter/cdk-bootstrap/*"
_CDK = "cdk-hnb659fds-*"


def documents(name: str) -> dict[str, Document]:
    """Of a Carillon called so by `-c name=`."""
    actions = frozenset[str]().union(*ACTIONS.values())
    second = {action for action in actions if _service(action) in _SECOND}
    return {
        "deployer": _document(_deployer(name)),
        "execution-1": _document(_execution(actions - second, name)),
        "execution-2": _document([*_execution(second, name), _linked(), _bootstrap()]),
        "proof": _document(_proof()),
    }


def _document(statements: Iterable[Statement]) -> Document:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _execution(actions: Collection[str], name: str) -> list[Statement]:
    plain = {action for action in actions if action not in {_HAND_OVER, _ASSETS}}
    named = {action for action in plain if _service(action) in _NAMED}
    by_service = {service: {each for each in named if _service(each) == service} for service in _NAMED}
    statements = [
        _allow(allowed, [arn.format(name=name) for arn in _NAMED[service]])
        for service, allowed in by_service.items()
        if allowed
    ]
    if plain - named:
        statements.append(_allow(plain - named, ["*"]))
    if _HAND_OVER in actions:
        passed = _allow({_HAND_OVER}, [f"arn:aws:iam::*:role/{name}*"])
        statements.append({**passed, "Condition": {"StringEquals": {"iam:PassedToService": list(_TRUSTED)}}})
    if _ASSETS in actions:
        statements.append(_allow({_ASSETS}, ["arn:aws:s3:::cdk-hnb659fds-assets-*/*"]))
    return statements


def _linked() -> Statement:
    allowed = _allow({"iam:CreateServiceLinkedRole"}, ["arn:aws:iam::*:role/aws-service-role/*"])
    return {**allowed, "Condition": {"StringEquals": {"iam:AWSServiceName": list(_LINKED)}}}


def _bootstrap() -> Statement:
    """A template's rule about the bootstrap version reads it."""
    return _allow({"ssm:GetParameters"}, [_BOOTSTRAP])


def _deployer(name: str) -> Iterator[Statement]:
    # The CDK does all that it does in roles that bootstrapping made; the person needs no right beside them.
    yield _allow({"sts:AssumeRole"}, [f"arn:aws:iam::*:role/{_CDK}"])
    yield _allow({"cloudformation:DescribeStacks"}, [f"arn:aws:cloudformation:*:*:stack/{name}-*"])
    # infra.preflight
    asked = {
        "ec2:DescribeAvailabilityZones",
        "dynamodb:ListTables",
        "iam:GetRole",
        "lambda:GetAccountSettings",
        "servicequotas:ListAWSDefaultServiceQuotas",
        "servicequotas:ListServiceQuotas",
    }
    yield _allow(asked, ["*"])
    yield _allow({"ssm:GetParameter"}, [_BOOTSTRAP])
    # functions.api.first_key
    first_key = {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}
    yield _allow(first_key, [f"arn:aws:dynamodb:*:*:table/{name}*Access*"])
    through = {"StringLike": {"kms:ViaService": "dynamodb.*.amazonaws.com"}}
    yield {**_allow({"kms:Decrypt"}, ["*"]), "Condition": through}


def _proof() -> Iterator[Statement]:
    of_tables = (
        "BatchGetItem BatchWriteItem CreateTable DeleteItem DeleteTable DescribeTable GetItem PartiQLInsert "
        "PartiQLUpdate PutItem Query UpdateItem"
    )
    tables = ["arn:aws:dynamodb:*:*:table/carillon-proof-*"]
    yield _allow({f"dynamodb:{each}" for each in of_tables.split()}, [*tables, f"{tables[0]}/index/*"])
    of_queues = "ChangeMessageVisibility CreateQueue DeleteMessage DeleteQueue ReceiveMessage SendMessage"
    yield _allow({f"sqs:{each}" for each in of_queues.split()}, ["arn:aws:sqs:*:*:carillon-proof-*"])


def _allow(actions: Collection[str], resources: list[str]) -> Statement:
    return {"Effect": "Allow", "Action": sorted(actions), "Resource": resources}


def _service(action: str) -> str:
    return action.partition(":")[0]
