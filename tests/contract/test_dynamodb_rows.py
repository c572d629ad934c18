"""What the rows look like to DynamoDB itself: its indexes and its TTL."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shared.adapters.dynamodb.conditions import RUNS_OF_JOB, names
from shared.adapters.dynamodb.entry_rows import read_entry, write_entry
from shared.adapters.dynamodb.listed_runs import PREFIX
from shared.adapters.dynamodb.queries import BYTES_OF_A_PAGE
from shared.config import TableNames
from shared.domain.instants import HOUR, MINUTE, Instant
from shared.domain.limits import MAX_PAYLOAD_BYTES
from shared.domain.run import Attempt, RunError, RunStatus
from shared.domain.sharding import owner_slices
from shared.ports import Completion, JobFilter
from shared.ports.run_store import Heartbeat
from tests.contract.stored import stored_job, stored_run
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import NOW, creation, finish_of, make_entry, make_job, make_receipt, make_run, make_waiting

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.emulator


@pytest.fixture
def stores(dynamodb: DynamoDBClient, tables: TableNames) -> Stores:
    return dynamo_stores(dynamodb, tables)


def row_of(client: DynamoDBClient, table: str, **key: str) -> dict[str, Any]:
    return client.get_item(TableName=table, Key={name: {"S": value} for name, value in key.items()})["Item"]


def markers(client: DynamoDBClient, tables: TableNames) -> list[str]:
    answer = client.query(
        TableName=tables.job_runs,
        KeyConditionExpression=RUNS_OF_JOB,
        ExpressionAttributeNames=names(RUNS_OF_JOB),
        ExpressionAttributeValues={":job_key": {"S": f"{PREFIX}acme/job"}},
        ConsistentRead=True,
    )
    return [item["run_id"]["S"] for item in answer["Items"]]


def failures_index(client: DynamoDBClient, tables: TableNames) -> list[str]:
    return [
        item["run_id"]["S"]
        for slice_name in owner_slices("acme")
        for item in client.query(
            TableName=tables.job_runs,
            IndexName="failures",
            KeyConditionExpression="failure_slice = :slice",
            ExpressionAttributeValues={":slice": {"S": slice_name}},
        )["Items"]
    ]


def test_ttl_is_in_whole_seconds_and_never_early(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    expires_at = Instant(1_000_000_000_001)
    stores.jobs.write(creation(make_job(expires_at=expires_at), receipt=make_receipt(expires_at=expires_at)))
    run = stored_run(stores, make_run())
    stores.runs.finish([finish_of(run, expires_at=expires_at)])

    rows = [
        row_of(dynamodb, tables.access, pk="idem#acme#once"),
        row_of(dynamodb, tables.job_runs, job_key=run.job_key, run_id=run.run_id),
    ]

    assert [row["expires_at"] for row in rows] == [{"N": "1000000001"}] * 2


def test_the_row_of_a_job_stays_longer_than_clocks_differ(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    """Or the next job of its id could get a lower generation, and run what was sent for this one."""
    expires_at = Instant(1_000_000_000_001)
    stores.jobs.write(creation(make_job(expires_at=expires_at)))
    running = stored_job(stores, make_job("running"))
    stores.jobs.complete([Completion(running.job_key, running.generation, expires_at)])

    for key in ("acme/job", running.job_key):
        row = row_of(dynamodb, tables.jobs, job_key=key)
        assert (row["expires_at"], row["expires_at_ms"]) == ({"N": "1000003601"}, {"N": str(expires_at)})


def test_a_run_has_a_marker_from_a_heartbeat_that_lists_it_to_its_end(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    run = stored_run(stores, make_run())
    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + MINUTE))])
    assert markers(dynamodb, tables) == []

    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + MINUTE), lists=True)])
    assert markers(dynamodb, tables) == [run.run_id]
    assert [run.run_id for run in stores.runs.list_of_job("acme/job", limit=9).items] == [run.run_id]

    stores.runs.finish([finish_of(run, is_listed=True)])
    assert markers(dynamodb, tables) == []


def test_who_ends_a_waiting_run_takes_its_marker_away(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    waiting = stored_run(stores, make_waiting())
    assert markers(dynamodb, tables) == [waiting.run_id]
    stores.runs.request_cancel(waiting.key, at=NOW, expires_at=NOW)
    assert markers(dynamodb, tables) == []

    seen = stored_run(stores, make_waiting(NOW + 1))
    ended = replace(seen, status=RunStatus.FAILED, token=seen.token + 1, ended_at=NOW)
    stores.runs.take_over(ended, seen=seen)
    assert markers(dynamodb, tables) == []


def test_a_marker_stands_before_the_row_says_that_the_run_waits(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    """Whoever dies between the two leaves a marker too many, which misleads nobody."""
    run = stored_run(stores, make_run())
    other = finish_of(run, status=RunStatus.WAITING, lease_until=Instant(NOW + 1), attempt=2, token=7)

    assert stores.runs.finish([other]) == [None]

    assert markers(dynamodb, tables) == [run.run_id]
    stores.runs.finish([finish_of(run)])
    assert stores.runs.alive("acme/job", since=Instant(NOW + MINUTE)) == []
    stored = row_of(dynamodb, tables.job_runs, job_key=f"{PREFIX}acme/job", run_id=run.run_id)
    assert int(stored["expires_at"]["N"]) * 1000 > NOW + 30 * 24 * HOUR


def test_parked_entries_alone_are_in_index_by_next(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    """An index row costs a write unit at each put and delete."""

    def index() -> list[str]:
        answer = dynamodb.scan(TableName=tables.job_schedules, IndexName="by_next")
        return [row["entry_id"]["S"] for row in answer["Items"]]

    entry = make_entry()
    stores.jobs.write(creation(make_job()))
    assert index() == []

    stores.entries.move(entry.key, Instant(NOW + 1))
    assert index() == [entry.key.parked.entry_id]


def test_failed_runs_alone_are_in_index_failures(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    statuses = [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.CANCELLED]
    runs = [stored_run(stores, make_run(NOW + number)) for number in range(4)]
    recorded = make_run(NOW + 9, status=RunStatus.FAILED, ended_at=NOW)

    stores.runs.finish([finish_of(run, status=status) for run, status in zip(runs, statuses, strict=True)])
    stores.runs.record([recorded])

    assert sorted(failures_index(dynamodb, tables)) == [runs[1].run_id, runs[2].run_id, recorded.run_id]


def test_a_run_of_the_usual_kind_is_less_than_a_kilobyte(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    """One write unit for its claim, and one for its end."""
    run = make_run(
        job_key=f"{'o' * 20}/{'j' * 36}",
        claim_id="c" * 22,
        worker_id="w" * 36,
        enqueued_at=NOW,
        received_at=NOW,
    )
    stores.runs.insert([run])
    stores.runs.finish([finish_of(run, started_at=NOW, output="o" * 100, expires_at=NOW)])

    row = row_of(dynamodb, tables.job_runs, job_key=run.job_key, run_id=run.run_id)

    assert sum(len(name) + len(str(next(iter(value.values())))) for name, value in row.items()) < 1024


def test_entries_of_one_schedule_share_it() -> None:
    """Half a million of them are in memory at once."""
    entries = [read_entry(write_entry(make_entry(job_key=f"acme/job-{number}"))) for number in range(2)]
    assert entries[0].schedule is entries[1].schedule is not None
    assert entries[0].misfire is entries[1].misfire
    assert entries[0].lane is entries[1].lane


def test_a_page_is_bounded_in_bytes(stores: Stores) -> None:
    """Whoever asks for 200 jobs of 128 KB each gets some of them, and goes on."""
    payload = "x" * (MAX_PAYLOAD_BYTES - 2)
    for number in range(60):
        stores.jobs.write(creation(make_job(f"job-{number}", payload=payload)))

    lengths, cursor = list[int](), None
    while True:
        page = stores.jobs.list_of_owner("acme", only=JobFilter(), limit=200, cursor=cursor)
        lengths.append(len(page.items))
        cursor = page.cursor
        if cursor is None:
            break

    assert sum(lengths) == 60
    assert max(lengths) <= BYTES_OF_A_PAGE // MAX_PAYLOAD_BYTES + 1


def test_a_page_of_runs_is_bounded_in_bytes(stores: Stores) -> None:
    attempts = tuple(
        Attempt(number, Instant(NOW), Instant(NOW), "w", RunError("http_5xx", "x" * 1_000)) for number in range(1, 101)
    )
    runs = [make_run(NOW + number * 1_000, status=RunStatus.FAILED, attempts=attempts) for number in range(60)]
    stores.runs.record(runs)

    first = stores.runs.list_of_job("acme/job", limit=200)
    rest = stores.runs.list_of_job("acme/job", limit=200, cursor=first.cursor)

    assert len(first.items) <= BYTES_OF_A_PAGE // 100_000 + 1
    assert len(first.items) + len(rest.items) == 60
