"""The API's composition root: the only file here that knows an adapter."""

from __future__ import annotations

import os
from dataclasses import dataclass

from functions.api.backend import Backend
from functions.api.settings import read_settings
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.access_store import DynamoAccessStore
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.dynamodb.fleet_store import DynamoFleetStore
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.eventbridge import event_bus_from
from shared.adapters.system import SystemClock, SystemRandomness
from shared.adapters.tracing import traces_from
from shared.config import (
    INTERNAL_TARGETS_VARIABLE,
    TableNames,
    http_needs_grant,
    metrics_namespace,
    own_resources,
    region,
    required,
    shard_count,
    table_variable,
    version,
)
from shared.domain.addresses import parse_internal_targets
from shared.domain.grants import GrantRules, OwnResources
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import AccessStore, Clock, Randomness
from shared.ports.traces import Traces


@dataclass(frozen=True, slots=True)
class KeyStore:
    """What it takes to make a key."""

    access: AccessStore
    clock: Clock
    randomness: Randomness


_TABLES = ("jobs", "job_schedules", "job_runs", "fleet", "access")


def backend() -> Backend:
    """Over DynamoDB, as the environment says. Raises ConfigurationMissing."""
    for name in _TABLES:
        required(os.environ, table_variable(name))
    tables = TableNames.from_environment(os.environ)
    client, clock, randomness = dynamodb_client(), SystemClock(), SystemRandomness()
    calls = Calls(clock, randomness)
    return Backend(
        jobs=DynamoJobStore(client, tables, calls),
        runs=DynamoRunStore(client, tables, calls),
        entries=DynamoEntryStore(client, tables, calls),
        fleet=DynamoFleetStore(client, tables, calls),
        access=DynamoAccessStore(client, tables, calls),
        clock=clock,
        randomness=randomness,
        announcements=Announcements(event_bus_from(os.environ, clock, randomness)),
        metrics=MetricLog(metrics_namespace(os.environ), {"service": "api"}),
        shard_count=shard_count(os.environ),
        version=version(os.environ),
        settings=read_settings(os.environ),
        grant_rules=GrantRules(
            is_http_open=not http_needs_grant(os.environ), own=OwnResources(own_resources(os.environ))
        ),
        region=region(os.environ),
        internal_targets=parse_internal_targets(os.environ.get(INTERNAL_TARGETS_VARIABLE, "")),
    )


def traces() -> Traces:
    """Raises ConfigurationMissing, ValueError."""
    return traces_from(os.environ, service="api")


def trace_of_invocation() -> str | None:
    """Where Lambda traces the call that is being served; it says so anew for each."""
    return os.environ.get("_X_AMZN_TRACE_ID")


def key_store(table: str) -> KeyStore:
    """Of the table of that name, for whoever has no key yet."""
    clock, randomness = SystemClock(), SystemRandomness()
    store = DynamoAccessStore(dynamodb_client(), TableNames(access=table), Calls(clock, randomness))
    return KeyStore(store, clock, randomness)
