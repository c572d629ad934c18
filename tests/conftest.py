from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.config import TableNames
from tests.emulator import aws_environment, create_queue, create_tables, running_emulator

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

ROOT = Path(__file__).parents[1]

_numbers = count(1)
#: Minutes of waiting each.
LONGEST = frozenset(("test_execution.py", "test_fleet_faults.py", "test_soak.py"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest begin first, and after them the others with a stack of their own."""
    items.sort(key=lambda item: (item.path.name not in LONGEST, not _has_own_stack(item.path)))


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """For `-n 2 --dist loadscope`: what shares a server runs in one process."""
    return ByServer(config, log) if config.getoption("dist") == "loadscope" else None


class ByServer(LoadScopeScheduling):  # type: ignore[misc]
    """A module with a stack of its own is a group; the other tests of a folder are one, with the folder's stack or
    emulator.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = ROOT / nodeid.partition("::")[0]
        return str(path if _has_own_stack(path) else path.parent)


@cache
def _has_own_stack(path: Path) -> bool:
    return "\ndef stack(" in path.read_text()


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
