"""What each deployable may do: named actions on named tables and queues, and nothing else.

AWS checks a transaction against the plain actions inside it, and a PartiQL statement against an action of its own. What
the adapters could do but a deployable never asks of them is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Actions = tuple[str, ...]
TableActions = Mapping[str, Actions]


def _dynamodb(**tables: str) -> TableActions:
    return MappingProxyType(
        {name: tuple(f"dynamodb:{action}" for action in actions.split()) for name, actions in tables.items()}
    )


API_TABLES = _dynamodb(
    jobs="BatchGetItem GetItem Query UpdateItem",
    job_schedules="DeleteItem GetItem PutItem",
    # A resume records what its pause has skipped.
    job_runs="BatchGetItem BatchWriteItem GetItem PartiQLInsert PutItem Query UpdateItem",
    # What an admin is shown, and how far the schedulers are with a job that is changed.
    fleet="GetItem Query",
    access="BatchGetItem GetItem PutItem UpdateItem",
)

#: On the row of control alone: a lease or a node that the API could write would be a way around the protocol.
BRAKE: Actions = ("dynamodb:UpdateItem",)

SCHEDULER_TABLES = _dynamodb(
    # A job ends here when its last slot was skipped or refused.
    jobs="BatchGetItem GetItem PartiQLUpdate",
    # Parking an entry reads it, and puts it elsewhere in one transaction.
    job_schedules="BatchWriteItem DeleteItem GetItem PartiQLUpdate PutItem Query UpdateItem",
    # Slots that never start: skipped, or refused by the queue for the sender's fault, those of waiting runs by a put.
    # The audit reads.
    job_runs="BatchGetItem BatchWriteItem PartiQLInsert PutItem",
    fleet="DeleteItem GetItem PutItem Query UpdateItem",
)

WORKER_TABLES = _dynamodb(
    jobs="BatchGetItem GetItem PartiQLUpdate UpdateItem",
    # Single-fire entries of long waits between attempts, orphans (entries whose job is gone), and the entries of a job
    # that its receiver paused.
    job_schedules="BatchWriteItem DeleteItem PutItem",
    # Whether a run of a job whose last slot was left out still goes on; in batches, markers of runs that may be alive.
    job_runs="BatchGetItem BatchWriteItem GetItem PartiQLInsert PartiQLUpdate PutItem Query UpdateItem",
    # Grants of owners, and the keys that sign their webhooks.
    access="GetItem",
)

DEAD_LETTERS_TABLES = _dynamodb(
    jobs="BatchGetItem GetItem PartiQLUpdate",
    # Whether a run of a job whose last slot was left out still goes on.
    job_runs="BatchGetItem BatchWriteItem GetItem PartiQLInsert PutItem Query",
)

SENDER: Actions = ("sqs:SendMessage",)
CONSUMER: Actions = ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage")
#: The agent of ECS asks in the name of the task. No task has a name before it runs, so all of the cluster are meant.
#: The task itself looks whether its service has another definition by now.
OWN_TASK: Actions = ("ecs:DescribeServices", "ecs:GetTaskProtection", "ecs:UpdateTaskProtection")
#: Spans by X-Ray's OTLP endpoint, and what the Lambda service itself sends of a function that is traced.
TRACER: Actions = (
    "xray:PutSpans",
    "xray:PutSpansForIndexing",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
)
TELLER: Actions = ("events:PutEvents",)
