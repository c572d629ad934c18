"""How many requests a list makes of DynamoDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.batches import WRITE_BATCH
from shared.adapters.dynamodb.job_rows import write_job
from shared.config import TableNames
from shared.domain.instants import Instant
from shared.ports import JobFilter
from tests.contract.stores import dynamo_stores
from tests.contract.values import NOW, make_job
from tests.emulator import aws_environment
from tests.metering import Meter

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.emulator

JOBS = 480


@pytest.fixture
def metered(emulator_endpoint: str) -> Iterator[tuple[DynamoDBClient, Meter]]:
    """A client of this test alone, whose requests are counted."""
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    meter = Meter()
    meter.watch(client)
    yield client, meter
    client.close()


def test_a_filter_that_admits_little_reads_more_at_once(
    dynamodb: DynamoDBClient, metered: tuple[DynamoDBClient, Meter], tables: TableNames
) -> None:
    rows = [write_job(make_job(f"job-{number}", created_at=Instant(NOW + number))) for number in range(JOBS)]
    for start in range(0, JOBS, WRITE_BATCH):
        requests: list[Any] = [{"PutRequest": {"Item": row}} for row in rows[start : start + WRITE_BATCH]]
        dynamodb.batch_write_item(RequestItems={tables.jobs: requests})
    client, meter = metered
    stores = dynamo_stores(client, tables)
    with meter.counting("list") as cost:
        page = stores.jobs.list_of_owner("acme", only=JobFilter(group="none"), limit=50)
    assert (page.items, page.cursor) == ((), None)
    # Of each of the eight slices 12 rows, and then the rest: each time the keys, and the jobs.
    assert cost.requests_of("dynamodb") <= 48
