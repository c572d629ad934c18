"""Rows that this version cannot read: they are named, and what stands beside them is read all the same."""

from __future__ import annotations

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from shared.config import TableNames
from shared.domain.errors import StoredUnreadable
from shared.domain.instants import Instant
from shared.domain.run import RunStatus
from shared.ports import FailureFilter, JobFilter
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import NOW, creation, finish_of, make_job, make_run

pytestmark = pytest.mark.emulator


@pytest.fixture
def stores(dynamodb: DynamoDBClient, tables: TableNames) -> Stores:
    return dynamo_stores(dynamodb, tables)


def spoil(dynamodb: DynamoDBClient, table: str, name: str, **key: str) -> None:
    """As a later version might write it."""
    dynamodb.update_item(
        TableName=table,
        Key={member: {"S": value} for member, value in key.items()},
        UpdateExpression="SET #name = :value",
        ExpressionAttributeNames={"#name": name},
        ExpressionAttributeValues={":value": {"S": "of a later version"}},
    )


@pytest.fixture
def with_jobs(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> Stores:
    for number in range(6):
        stores.jobs.write(creation(make_job(f"job-{number}", created_at=Instant(NOW + number))))
    spoil(dynamodb, tables.jobs, "state", job_key="acme/job-3")
    return stores


def test_an_unreadable_job_is_named(with_jobs: Stores) -> None:
    with pytest.raises(StoredUnreadable, match="job 'job-3'"):
        with_jobs.jobs.get("acme/job-3")


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_list_of_jobs_goes_on_without_the_one_that_is_unreadable(with_jobs: Stores, limit: int) -> None:
    found, unreadable, cursor = list[str](), set[str](), None
    while True:
        page = with_jobs.jobs.list_of_owner("acme", only=JobFilter(), limit=limit, cursor=cursor)
        found += [job.job_id for job in page.items]
        unreadable |= set(page.unreadable)
        cursor = page.cursor
        if cursor is None:
            break

    assert found == ["job-5", "job-4", "job-2", "job-1", "job-0"]
    assert unreadable == {"job-3"}


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_history_goes_on_without_the_run_that_is_unreadable(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames, limit: int
) -> None:
    runs = [make_run(NOW + number * 1_000) for number in range(4)]
    stores.runs.insert(runs)
    for spoiled in (runs[0], runs[2]):
        spoil(dynamodb, tables.job_runs, "status", job_key=spoiled.job_key, run_id=spoiled.run_id)

    found, unreadable, cursor = list[str](), list[str](), None
    while True:
        page = stores.runs.list_of_job("acme/job", limit=limit, cursor=cursor)
        found += [run.run_id for run in page.items]
        unreadable += page.unreadable
        cursor = page.cursor
        if cursor is None:
            break

    assert found == [runs[3].run_id, runs[1].run_id]
    assert unreadable == [runs[2].run_id, runs[0].run_id]


def test_a_list_of_failures_goes_on_without_the_run_that_is_unreadable(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    runs = [make_run(NOW + number * 1_000) for number in range(3)]
    stores.runs.insert(runs)
    stores.runs.finish([finish_of(run, status=RunStatus.FAILED) for run in runs])
    spoil(dynamodb, tables.job_runs, "kind", job_key=runs[1].job_key, run_id=runs[1].run_id)

    page = stores.runs.list_failures("acme", only=FailureFilter(), limit=10)

    assert [run.run_id for run in page.items] == [runs[2].run_id, runs[0].run_id]
    assert page.unreadable == (f"job/{runs[1].run_id}",)
