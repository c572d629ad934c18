"""One emulator of DynamoDB and SQS for a test session, on a free port of the loopback, and what tests need in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from localstack import emulator, processes
from localstack.environment import HARMLESS
from localstack.workspace import Workspace
from shared.config import TableNames
from shared.schema import TABLES, Index, Table

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

#: What may point a client at a real account.
_DANGEROUS = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS", "AWS_CA_BUNDLE")


@contextmanager
def running_emulator(folder: Path) -> Iterator[str]:
    """Its endpoint. It ends with the block."""
    workspace = Workspace(folder)
    port = emulator.free_port(0)
    process = emulator.launch(workspace, port)
    try:
        emulator.wait_until_ready(process, workspace, port)
        yield emulator.endpoint_of(port)
    finally:
        processes.stop([process], grace_seconds=emulator.GRACE_SECONDS)


@contextmanager
def aws_environment(endpoint: str) -> Iterator[None]:
    """Clients made in this block speak to `endpoint`, with keys that are worth nothing, and keep doing so."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in HARMLESS.items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        for name in _DANGEROUS:
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ENDPOINT_URL", endpoint)
        yield


def create_tables(client: DynamoDBClient, prefix: str) -> TableNames:
    """Every table of `shared.schema` as `<prefix>-<name>`. Without TTL: tests live in times of their own."""
    names = {table.name: f"{prefix}-{table.name}" for table in TABLES}
    for table in TABLES:
        client.create_table(**_definition(table, names[table.name]))
    return TableNames(**names)


def create_queue(client: SQSClient, name: str) -> str:
    """The URL of a new standard queue."""
    return client.create_queue(QueueName=name)["QueueUrl"]


def _definition(table: Table, name: str) -> dict[str, Any]:
    keys = [table.partition, *([table.sort] if table.sort else [])]
    attributes = {key.name: key.type for key in keys}
    attributes |= {key.name: key.type for index in table.indexes for key in (index.partition, index.sort)}
    definition: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(*(key.name for key in keys)),
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": kind} for key, kind in attributes.items()],
    }
    for member, is_local in (("LocalSecondaryIndexes", True), ("GlobalSecondaryIndexes", False)):
        indexes = [_index(index) for index in table.indexes if index.is_local is is_local]
        if indexes:
            definition[member] = indexes
    return definition


def _index(index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.partition.name, index.sort.name),
        "Projection": {"ProjectionType": index.projection},
    }


def _key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]
