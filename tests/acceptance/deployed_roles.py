"""What each role of the deployed service may do, from `infra.permissions`, and all that it therefore may not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import boto3
from botocore.client import Config
from botocore.exceptions import ClientError

from infra import permissions
from infra.permissions import TableActions
from infra.words import in_pascal_case
from localstack import roles
from localstack.environment import ACCOUNT, REGION, TRUSTED, require_loopback
from localstack.running import Stack
from localstack.verify import deployed_resources
from localstack.workspace import read_json
from shared.schema import FLEET, LANES, TABLES

DENIED = frozenset(("AccessDenied", "AccessDeniedException"))
#: The emulator cannot tell these apart, nor their tables.
STATEMENTS = frozenset(("dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"))
#: What nobody may do.
NOBODYS_TABLE_ACTIONS = ("dynamodb:DeleteTable", "dynamodb:Scan", "dynamodb:UpdateTable")
NOBODYS_QUEUE_ACTIONS = ("sqs:DeleteQueue", "sqs:PurgeQueue")
LANE_OUTPUTS = tuple(f"{in_pascal_case(lane)}QueueUrl" for lane in LANES)
DEAD_LETTER_OUTPUTS = tuple(f"{in_pascal_case(lane)}DeadLetterQueueUrl" for lane in LANES)
UNDELIVERED_OUTPUT = "UndeliveredQueueUrl"


@dataclass(frozen=True)
class Deployable:
    """What one role may do: actions on tables by logical name, on queues by the output with their URL, and others."""

    tables: TableActions = field(default_factory=dict)
    queues: Mapping[str, permissions.Actions] = field(default_factory=dict)
    others: permissions.Actions = ()


WORKER = Deployable(
    permissions.WORKER_TABLES,
    {
        **dict.fromkeys(LANE_OUTPUTS, permissions.CONSUMER),
        **dict.fromkeys(DEAD_LETTER_OUTPUTS, permissions.SENDER),
    },
    permissions.TELLER,
)
WORKER_ON_ECS = Deployable(WORKER.tables, WORKER.queues, (*WORKER.others, *permissions.OWN_TASK))
#: By what runs under the role: a handler of Lambda, a container of ECS, or, for ECS itself, what it starts.
MAY: Mapping[str, Deployable] = {
    "functions.api.app.handler": Deployable(
        {**permissions.API_TABLES, FLEET.name: (*permissions.API_TABLES[FLEET.name], *permissions.BRAKE)},
        others=permissions.TELLER,
    ),
    "functions.worker.lambda_host.handler": WORKER,
    "functions.dead_letters.handler.handler": Deployable(
        permissions.DEAD_LETTERS_TABLES,
        {UNDELIVERED_OUTPUT: permissions.CONSUMER, **dict.fromkeys(DEAD_LETTER_OUTPUTS, permissions.SENDER)},
        permissions.TELLER,
    ),
    "scheduler": Deployable(
        permissions.SCHEDULER_TABLES, dict.fromkeys(LANE_OUTPUTS, permissions.SENDER), permissions.TELLER
    ),
    "worker": WORKER_ON_ECS,
    "the start of scheduler": Deployable(),
    "the start of worker": Deployable(),
}


@dataclass(frozen=True)
class Role:
    """A deployed role. `used_by` is a key of `MAY`, or the logical id of a role that nobody of those uses."""

    used_by: str
    name: str


@dataclass(frozen=True)
class Call:
    """One request outside of a role; `text` says which."""

    text: str
    send: Callable[[], object]

    def is_denied(self) -> bool:
        try:
            self.send()
        except ClientError as error:
            return error.response["Error"]["Code"] in DENIED
        return False


def deployed_roles(stack: Stack) -> dict[str, Role]:
    """Every role that the service stack has, by who uses it."""
    users = dict(_users(stack))
    resources = deployed_resources(stack.workspace.assembly, stack.endpoint, kinds=(roles.ROLE,))
    found = [Role(users.get(each.logical_id, each.logical_id), each.physical_id) for each in resources]
    return {role.used_by: role for role in found}


def outside(stack: Stack, role: Role) -> Iterator[Call]:
    """A call for every action of any deployable on every table and queue that this one does not have."""
    session = _Session.of(stack, role)
    may = MAY[role.used_by]
    yield from _outside_tables(stack, session, may)
    yield from _outside_queues(stack, session, may)
    others = {action for each in MAY.values() for action in each.others} - set(may.others)
    for action in sorted(others):
        yield Call(action, session.call(action, **OTHER_REQUESTS[action]))


#: What else deployables do, on a resource that is not theirs to choose.
OTHER_REQUESTS: Mapping[str, dict[str, Any]] = {
    "events:PutEvents": {"Entries": [{"Source": "x", "DetailType": "x", "Detail": "{}", "EventBusName": "default"}]},
    "ecs:DescribeServices": {"cluster": "any", "services": ["any"]},
    "ecs:GetTaskProtection": {"cluster": "any", "tasks": ["any"]},
    "ecs:UpdateTaskProtection": {"cluster": "any", "tasks": ["any"], "protectionEnabled": True},
}


def _outside_tables(stack: Stack, session: _Session, may: Deployable) -> Iterator[Call]:
    known = {action for each in MAY.values() for actions in each.tables.values() for action in actions}
    for table in TABLES:
        physical = stack.outputs[f"{in_pascal_case(table.name)}Table"]
        allowed = may.tables.get(table.name, ())
        for action in sorted({*known, *NOBODYS_TABLE_ACTIONS} - STATEMENTS - {*allowed}):
            yield Call(f"{action} on {table.name}", session.call(action, **_table_request(action, physical)))
    if not any(STATEMENTS.intersection(actions) for actions in may.tables.values()):
        statement = {"Statement": "SELECT * FROM any WHERE job_key = 'x'"}
        yield Call("PartiQL", session.call(roles.BATCH_OF_STATEMENTS, Statements=[statement]))


def _outside_queues(stack: Stack, session: _Session, may: Deployable) -> Iterator[Call]:
    known = {*permissions.SENDER, *permissions.CONSUMER, *NOBODYS_QUEUE_ACTIONS}
    for output in (*LANE_OUTPUTS, *DEAD_LETTER_OUTPUTS, UNDELIVERED_OUTPUT):
        for action in sorted(known - {*may.queues.get(output, ())}):
            body = {"MessageBody": "x"} if action in permissions.SENDER else {}
            yield Call(f"{action} on {output}", session.call(action, QueueUrl=stack.outputs[output], **body))


def _table_request(action: str, table: str) -> dict[str, Any]:
    match action:
        case "dynamodb:BatchGetItem":
            return {"RequestItems": {table: {"Keys": []}}}
        case "dynamodb:BatchWriteItem":
            return {"RequestItems": {table: []}}
        case _:
            return {"TableName": table}


@dataclass(frozen=True)
class _Session:
    """Requests under a role, as it stands: who may not send one is refused before anybody reads it."""

    boto: boto3.session.Session
    endpoint: str

    @classmethod
    def of(cls, stack: Stack, role: Role) -> _Session:
        require_loopback(stack.endpoint)
        given = roles.assume(stack.endpoint, f"arn:aws:iam::{ACCOUNT}:role/{role.name}")
        session = boto3.session.Session(
            aws_access_key_id=given["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
            aws_session_token=given["AWS_SESSION_TOKEN"],
            region_name=REGION,
        )
        return cls(session, stack.endpoint)

    def call(self, action: str, **request: Any) -> Callable[[], object]:
        service, _, operation = action.partition(":")
        return partial(getattr(self.client(service), _method(operation)), **request)

    @cache  # noqa: B019 - it ends with the test
    def client(self, service: str) -> Any:
        config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
        trusted = os.environ.get(TRUSTED)
        return self.boto.client(service, endpoint_url=self.endpoint, verify=trusted, config=config)  # type: ignore[call-overload]


def _method(operation: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).removeprefix("_")


def _users(stack: Stack) -> Iterator[tuple[str, str]]:
    """The logical id of each role that something runs under, and what that is."""
    for path in stack.workspace.assembly.glob("*.template.json"):
        for resource in read_json(path)["Resources"].values():
            properties = resource.get("Properties", {})
            match resource["Type"]:
                case "AWS::Lambda::Function":
                    yield properties["Role"]["Fn::GetAtt"][0], properties["Handler"]
                case "AWS::ECS::TaskDefinition":
                    (container,) = properties["ContainerDefinitions"]
                    yield properties["TaskRoleArn"]["Fn::GetAtt"][0], container["Name"]
                    yield properties["ExecutionRoleArn"]["Fn::GetAtt"][0], f"the start of {container['Name']}"
