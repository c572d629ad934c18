"""One emulator of DynamoDB and SQS for a test session, on a free port of the loopback, and what tests need in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from infra.prove.scratch import definition
from localstack import emulator, processes
from localstack.environment import HARMLESS
from localstack.workspace import Workspace
from shared.config import TableNames
from shared.schema import TABLES

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
        client.create_table(**definition(table, names[table.name]))
    return TableNames(**names)


def create_queue(client: SQSClient, name: str) -> str:
    """The URL of a new standard queue."""
    return client.create_queue(QueueName=name)["QueueUrl"]
