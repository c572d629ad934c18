"""The upgrade rule: tables change by addition only, so that versions n and n + 1 may work side by side.

What this version does not know in a row it overlooks, and what it updates keeps it. A write that makes the row anew
does not: a claim taken over, a run planned again, a node's beat, an entry of a new generation. Nor does a document
that is written again whole, so whatever must last gets an attribute of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from shared.adapters.dynamodb import access_rows, entry_rows, fleet_rows, job_rows, run_rows
from shared.adapters.dynamodb.attributes import Row, text
from shared.config import TableNames
from shared.domain.fleet import Lease, Node
from shared.domain.instants import MINUTE, Instant
from shared.domain.job import Cancellation, CancelOutcome, RetryPolicy
from shared.domain.overlap import Holder
from shared.domain.run import Attempt, RunError
from shared.domain.schedules import Cron, Gap, Misfire
from shared.ports import Completion, Hold
from shared.ports.run_store import Heartbeat
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import (
    NOW,
    change_of,
    creation,
    finish_of,
    make_entry,
    make_grant,
    make_job,
    make_key,
    make_receipt,
    make_run,
    make_signing_key,
    make_waiting,
    postponement_of,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ADDED = {"added_later": {"S": "by the next version"}}

JOB = make_job(
    schedule=Cron(expression="0 9 * * 1", timezone="Europe/Berlin"),
    retry=RetryPolicy(max_attempts=3, never_on=("4xx",)),
    misfire=Misfire(policy="fire_all", grace_ms=MINUTE, limit=3, within_gap=True),
    cancellation=Cancellation(CancelOutcome.RUNNING, ("r1",)),
    tags={"team": "payments"},
)
RUN = make_run(
    error=RunError("http_5xx", "503"),
    gap=Gap(NOW, Instant(NOW + MINUTE), 2),
    attempts=(Attempt(1, NOW, NOW, "worker-1", RunError("http_5xx", "503")),),
)
LEASE = Lease(3, "node-1", 7, NOW)
NODE = Node("node-1", 8, "1.2.0", 1, NOW)
#: By table: a value, and how its row is written and read.
CODECS: dict[str, tuple[Any, Callable[[Any], Row], Callable[[Row], Any]]] = {
    "job": (JOB, job_rows.write_job, job_rows.read_job),
    "entry": (make_entry(JOB), entry_rows.write_entry, entry_rows.read_entry),
    "run": (RUN, run_rows.write_run, run_rows.read_run),
    "node": (NODE, fleet_rows.write_node, fleet_rows.read_node),
    "key": (make_key(), access_rows.write_key, access_rows.read_key),
    "receipt": (make_receipt(), access_rows.write_receipt, access_rows.read_receipt),
}
#: What a user wrote, or a list of things of one kind: a member more is no member that this version does not know.
OPEN_DOCUMENTS = {"target", "tags", "payload", "scopes"}


def with_more_members(value: Any) -> Any:
    """The document with a member that this version does not know; a list is a record whose members have places."""
    stored = json.loads(value["S"])
    if isinstance(stored, dict):
        return {"S": json.dumps(stored | {"added_later": 1})}
    return {"S": json.dumps([*stored, "added later"])}


def is_document(name: str, value: Any) -> bool:
    return name not in OPEN_DOCUMENTS and str(value.get("S", ""))[:1] in {"{", "["}


@pytest.mark.parametrize("name", CODECS)
def test_an_attribute_of_the_next_version_is_overlooked(name: str) -> None:
    value, write, read = CODECS[name]
    assert read(write(value) | ADDED) == value


def test_a_lease_and_the_control_row_overlook_it_too() -> None:
    row = fleet_rows.lease_key(3) | {"owner": text("node-1"), "epoch": {"N": "7"}, "watermark": {"N": str(NOW)}}
    assert fleet_rows.read_lease(row | ADDED) == LEASE
    assert fleet_rows.read_control(ADDED) == fleet_rows.read_control({})


@pytest.mark.parametrize("name", ["job", "entry", "run"])
def test_a_member_of_the_next_version_within_a_document_is_overlooked(name: str) -> None:
    value, write, read = CODECS[name]
    row = write(value)
    documents = {attribute for attribute, stored in row.items() if is_document(attribute, stored)}
    assert documents >= {"job": {"schedule", "retry", "misfire", "cancellation"}, "entry": {"schedule", "misfire"}}.get(
        name, {"error", "gap"}
    )
    row |= {attribute: with_more_members(row[attribute]) for attribute in documents}
    if name == "run":
        row["attempts"] = {"M": {key: with_more_members(each) for key, each in row["attempts"]["M"].items()}}
    assert read(row) == value


def test_a_grant_and_a_signing_key_of_the_next_version_are_read() -> None:
    grant, key = make_grant(), make_signing_key()
    assert access_rows.grant_from_json("acme", access_rows.to_json(grant) | {"added_later": 1}) == grant
    assert access_rows.signing_key_from_json("acme", access_rows.to_json(key) | {"added_later": 1}) == key


# What an update leaves alone. ----------------------------------------------------------------------------------------


@pytest.fixture
def stores(dynamodb: DynamoDBClient, tables: TableNames) -> Stores:
    return dynamo_stores(dynamodb, tables)


def add(client: DynamoDBClient, table: str, key: Row) -> Callable[[], bool]:
    """Let the next version write an attribute; answers whether it is still there."""
    client.update_item(
        TableName=table,
        Key=key,
        UpdateExpression="SET added_later = :added",
        ExpressionAttributeValues={":added": ADDED["added_later"]},
    )
    return lambda: holds_it(client, table, key)


def holds_it(client: DynamoDBClient, table: str, key: Row) -> bool:
    return "added_later" in client.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"]


@pytest.mark.emulator
def test_changes_of_a_job_keep_it(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    job = make_job()
    stores.jobs.write(creation(job))
    is_kept = add(dynamodb, tables.jobs, job_rows.key_of(job.job_key))
    change = change_of(job)
    hold = Hold(job.job_key, Holder("r1", 1, Instant(NOW + MINUTE)))
    for write in (
        lambda: stores.jobs.write(change),
        lambda: stores.jobs.hold(hold, limit=1, now=NOW, clock_bound_ms=0),
        lambda: stores.jobs.extend([hold]),
        lambda: stores.jobs.release([hold]),
        lambda: stores.jobs.complete([Completion(job.job_key, change.job.generation, NOW)]),
    ):
        write()
        assert is_kept()


@pytest.mark.emulator
def test_a_move_and_the_clearing_of_fresh_keep_it(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    entry = make_entry()
    stores.jobs.write(creation(make_job()))
    is_kept = add(dynamodb, tables.job_schedules, entry_rows.key_of(entry.key))
    stores.entries.clear_fresh([entry.key])
    assert is_kept()
    for minutes in (1, 2):
        assert stores.entries.move(entry.key, Instant(NOW + minutes * MINUTE))
        assert holds_it(dynamodb, tables.job_schedules, entry_rows.key_of(entry.key.parked))


@pytest.mark.emulator
def test_heartbeats_and_ends_of_a_run_keep_it(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    run, waiting, cancelled = make_run(), make_run(NOW + 1), make_waiting(NOW + 2)
    stores.runs.insert([run, waiting, cancelled])
    is_kept = [add(dynamodb, tables.job_runs, run_rows.key_of(each.key)) for each in (run, waiting, cancelled)]
    stores.runs.heartbeat([Heartbeat(run.key, run.token, Instant(NOW + MINUTE))])
    stores.runs.finish([finish_of(run)])
    stores.runs.postpone(postponement_of(waiting), make_entry(run_id=waiting.run_id, schedule=None))
    stores.runs.request_cancel(cancelled.key, at=NOW, expires_at=NOW)
    assert all(kept() for kept in is_kept)


@pytest.mark.emulator
def test_whatever_happens_to_a_lease_keeps_it(stores: Stores, dynamodb: DynamoDBClient, tables: TableNames) -> None:
    lease = stores.fleet.take(Lease(3), owner="node-1")
    assert lease is not None
    is_kept = add(dynamodb, tables.fleet, fleet_rows.lease_key(3))
    assert stores.fleet.checkpoint(Lease(3, "node-1", lease.epoch, NOW))
    taken = stores.fleet.take(lease, owner="node-2")
    assert taken is not None
    assert stores.fleet.disown(taken)
    assert is_kept()


@pytest.mark.emulator
def test_the_brake_and_the_pinned_number_of_shards_keep_it(
    stores: Stores, dynamodb: DynamoDBClient, tables: TableNames
) -> None:
    is_kept = add(dynamodb, tables.fleet, fleet_rows.CONTROL_KEY)
    stores.fleet.set_firing(is_firing=False)
    stores.fleet.pin_shard_count(4)
    assert is_kept()
