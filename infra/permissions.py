"""What each deployable may do: named actions on named tables and queues, and nothing else.

A statement in PartiQL and a transaction are checked against the actions of what they do, so those are listed with the
plain calls. Actions of the ports that a deployable does not use are left out.
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
    jobs="BatchGetItem ConditionCheckItem GetItem PutItem Query UpdateItem",
    job_schedules="DeleteItem PutItem",
    job_runs="BatchGetItem GetItem Query",
    access="ConditionCheckItem GetItem PutItem Query UpdateItem",
)

SCHEDULER_TABLES = _dynamodb(
    # An entry that has fired its last slot completes its job.
    jobs="UpdateItem",
    job_schedules="BatchWriteItem DeleteItem PartiQLDelete PartiQLUpdate Query UpdateItem",
    # Slots that never start: skipped, or refused by the queue for the sender's fault.
    job_runs="PartiQLInsert PutItem",
    fleet="DeleteItem GetItem PutItem Query UpdateItem",
)

WORKER_TABLES = _dynamodb(
    jobs="BatchGetItem GetItem UpdateItem",
    job_runs="BatchGetItem GetItem PartiQLInsert PartiQLUpdate PutItem UpdateItem",
    # An entry whose job is gone.
    job_schedules="BatchWriteItem DeleteItem",
)

SENDER: Actions = ("sqs:SendMessage",)
CONSUMER: Actions = ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")
