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
#: Minutes of waiting each.
LONGEST = frozenset(("test_execution.py", "test_fleet_faults.py"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `-n 2 --dist loadgroup`: what shares a server runs in one process, and the longest begin first.

    A module with a stack of its own is a group; the other tests of a folder are one, with the folder's stack or
    emulator.
    """
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_group_of(item)))
    items.sort(key=lambda item: (not _has_own_stack(item), item.path.name not in LONGEST))


def _group_of(item: pytest.Item) -> str:
    return item.path.stem if _has_own_stack(item) else item.path.parent.name


def _has_own_stack(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and hasattr(item.module, "stack")


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
