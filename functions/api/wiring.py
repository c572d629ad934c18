"""The API's composition root: the only file here that knows an adapter."""

from __future__ import annotations

import os

from functions.api.backend import Backend
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.access_store import DynamoAccessStore
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames, required, shard_count, table_variable, version

_TABLES = ("jobs", "job_schedules", "job_runs", "access")


def backend() -> Backend:
    """Over DynamoDB, as the environment says. Raises ConfigurationMissing."""
    for name in _TABLES:
        required(os.environ, table_variable(name))
    tables = TableNames.from_environment(os.environ)
    client, clock, randomness = dynamodb_client(), SystemClock(), SystemRandomness()
    return Backend(
        jobs=DynamoJobStore(client, tables, clock, randomness),
        runs=DynamoRunStore(client, tables, clock, randomness),
        access=DynamoAccessStore(client, tables, clock, randomness),
        clock=clock,
        randomness=randomness,
        shard_count=shard_count(os.environ),
        version=version(os.environ),
    )
