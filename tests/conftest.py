from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

import pytest

from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.config import TableNames
from tests.emulator import aws_environment, create_queue, create_tables, running_emulator

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

_numbers = count(1)


@pytest.fixture(scope="session")
def emulator_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the one emulator of this session, started when the first test asks."""
    with running_emulator(tmp_path_factory.mktemp("emulator")) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def dynamodb(emulator_endpoint: str) -> Iterator[DynamoDBClient]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client(connections=32)
    yield client
    client.close()


@pytest.fixture(scope="session")
def sqs(emulator_endpoint: str) -> Iterator[SQSClient]:
    with aws_environment(emulator_endpoint):
        client = sqs_client(longest_wait_seconds=20)
    yield client
    client.close()


@pytest.fixture
def tables(dynamodb: DynamoDBClient) -> TableNames:
    """Empty tables of this test alone."""
    return create_tables(dynamodb, f"test-{next(_numbers)}")


@pytest.fixture
def queue_url(sqs: SQSClient) -> str:
    """An empty queue of this test alone."""
    return create_queue(sqs, f"test-{next(_numbers)}")
