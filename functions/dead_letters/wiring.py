"""The composition root of the dead letters: the only file here that knows an adapter."""

from __future__ import annotations

from collections.abc import Mapping

from functions.dead_letters.settling import Settings, Settler
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.sqs.dead_letter_queue import SqsDeadLetterQueue
from shared.adapters.sqs.due_queue import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import (
    UNDELIVERED_VARIABLE,
    TableNames,
    dead_letter_urls,
    queue_names,
    required,
    table_variable,
)
from shared.domain.instants import DAY

_TABLES = ("jobs", "job_runs")


def parts_from(environment: Mapping[str, str]) -> tuple[Settler, Mapping[str, str]]:
    """With the lane of each queue's name. Raises ConfigurationMissing, ValueError."""
    for name in _TABLES:
        required(environment, table_variable(name))
    tables = TableNames.from_environment(environment)
    clock, randomness = SystemClock(), SystemRandomness()
    calls = Calls(clock, randomness)
    dynamodb, sqs = dynamodb_client(), sqs_client()
    default = Settings()
    settler = Settler(
        undelivered=SqsDueQueue(sqs, required(environment, UNDELIVERED_VARIABLE), calls),
        dead_letters={lane: SqsDeadLetterQueue(sqs, url, calls) for lane, url in dead_letter_urls(environment).items()},
        run_store=DynamoRunStore(dynamodb, tables, calls),
        job_store=DynamoJobStore(dynamodb, tables, calls),
        clock=clock,
        randomness=randomness,
        settings=Settings(
            clock_bound_ms=int(environment.get("CARILLON_CLOCK_BOUND_MS", default.clock_bound_ms)),
            run_retention_ms=int(environment.get("CARILLON_RUN_RETENTION_DAYS", default.run_retention_ms // DAY)) * DAY,
        ),
    )
    return settler, queue_names(environment)
