"""The composition root of the dead letters: the only file here that knows an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from functions.dead_letters.settling import Settings, Settler
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.eventbridge import event_bus_from
from shared.adapters.sqs.dead_letter_queue import SqsDeadLetterQueue
from shared.adapters.sqs.due_queue import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import (
    UNDELIVERED_VARIABLE,
    TableNames,
    dead_letter_urls,
    metrics_namespace,
    queue_names,
    required,
    table_variable,
)
from shared.domain.instants import DAY
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog

_TABLES = ("jobs", "job_runs")


@dataclass(frozen=True, slots=True)
class Parts:
    settler: Settler
    #: The lane of each queue's name.
    lanes: Mapping[str, str]
    metrics: MetricLog


def parts_from(environment: Mapping[str, str]) -> Parts:
    """Raises ConfigurationMissing, ValueError."""
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
        announcements=Announcements(event_bus_from(environment, clock, randomness)),
    )
    metrics = MetricLog(metrics_namespace(environment), {"service": "dead_letters"})
    return Parts(settler, queue_names(environment), metrics)
