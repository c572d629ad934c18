"""The calls of AWS that a job may make: the allow-list, a row each. What is not in a row cannot be sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Action:
    """`service.operation`. Paths are members joined by dots; `[]` goes through a list."""

    service: str
    operation: str
    #: boto3's name of the service.
    client: str
    #: What is called, and must be granted: every one of these is needed, and holds no placeholder.
    resources: tuple[str, ...]
    required: tuple[str, ...]
    optional: tuple[str, ...]
    #: Members that would lend the call rights that no grant speaks of.
    forbidden: tuple[str, ...] = ()
    #: Members that choose what runs, where, and how often. A job sets them, and what is below them, only where the
    #: grant of the call names each by its path: a grant of a task definition is none of other commands and networks.
    guarded: tuple[str, ...] = ()
    #: What of that says nothing by itself.
    unguarded: tuple[str, ...] = ()
    #: Where the payload goes as JSON, unless the parameters say something else there.
    payload: str | None = None
    #: Of the answer: what the run stores as its output.
    output: str = ""
    #: Of the answer: a list that is not empty when the call was refused in part, and what an item of it says.
    refusals: str | None = None
    #: Where the header of a trace goes, unless the parameters say something else there.
    trace: str | None = None

    @property
    def name(self) -> str:
        return f"{self.service}.{self.operation}"


_ACTIONS: Final = (
    Action(
        service="sqs",
        operation="SendMessage",
        client="sqs",
        resources=("QueueUrl",),
        required=("QueueUrl",),
        optional=("MessageBody", "DelaySeconds", "MessageAttributes", "MessageDeduplicationId", "MessageGroupId"),
        payload="MessageBody",
        output="MessageId",
        trace="MessageSystemAttributes",
    ),
    Action(
        service="sns",
        operation="Publish",
        client="sns",
        resources=("TopicArn",),
        required=("TopicArn",),
        optional=(
            *("Message", "Subject", "MessageStructure", "MessageAttributes"),
            *("MessageDeduplicationId", "MessageGroupId"),
        ),
        payload="Message",
        output="MessageId",
    ),
    Action(
        service="events",
        operation="PutEvents",
        client="events",
        resources=("Entries[].EventBusName",),
        required=("Entries", "Entries[].EventBusName", "Entries[].Source", "Entries[].DetailType"),
        optional=("Entries[].Detail", "Entries[].Resources", "Entries[].Time", "Entries[].TraceHeader"),
        payload="Entries[].Detail",
        output="Entries[].EventId",
        refusals="Entries[].ErrorCode",
        trace="Entries[].TraceHeader",
    ),
    Action(
        service="states",
        operation="StartExecution",
        client="stepfunctions",
        resources=("stateMachineArn",),
        required=("stateMachineArn",),
        optional=("name", "input", "traceHeader"),
        payload="input",
        output="executionArn",
        trace="traceHeader",
    ),
    Action(
        service="ecs",
        operation="RunTask",
        client="ecs",
        resources=("cluster", "taskDefinition"),
        required=("cluster", "taskDefinition"),
        optional=(
            *("capacityProviderStrategy", "clientToken", "count", "enableECSManagedTags", "group", "launchType"),
            *("networkConfiguration", "overrides", "placementConstraints", "placementStrategy", "platformVersion"),
            *("propagateTags", "referenceId", "startedBy", "tags"),
        ),
        forbidden=("overrides.taskRoleArn", "overrides.executionRoleArn"),
        guarded=(
            *("capacityProviderStrategy", "count", "networkConfiguration", "overrides"),
            *("placementConstraints", "placementStrategy"),
        ),
        unguarded=("overrides.containerOverrides[].name",),
        output="tasks[].taskArn",
        refusals="failures[].reason",
    ),
)

ACTIONS: Final[Mapping[str, Action]] = {action.name: action for action in _ACTIONS}
