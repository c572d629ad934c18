"""Throttles, conflicts and parts of batches that were not processed: made again, and never dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shared.adapters.aws.client import dynamodb_client
from shared.config import TableNames
from shared.domain.errors import ItemRefused, OutcomeUnknown, StoreContended, StoreThrottled, WriteRefused
from shared.domain.instants import MINUTE, Instant
from shared.domain.keys import EntryKey
from shared.ports import JobWrite, Written
from shared.ports.run_store import Heartbeat, HeartbeatAnswer
from tests.contract.faults import UNSENT, Faults, Step, refused
from tests.contract.stores import Stores, dynamo_stores
from tests.contract.values import NOW, SUCCEEDED, change_of, creation, finish_of, make_entry, make_job, make_run
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator

FOR_EVER = 40
THROTTLED = refused("ProvisionedThroughputExceededException")
CONFLICT = refused(
    "TransactionCanceledException",
    CancellationReasons=[{"Code": "None"}, {"Code": "TransactionConflict"}, {"Code": "None"}],
)

Faulty = tuple[Stores, Faults]


@pytest.fixture
def faulty(emulator_endpoint: str, tables: TableNames) -> Iterator[Faulty]:
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    yield dynamo_stores(client, tables), Faults(client)
    client.close()


def statement_errors(code: str, *indexes: int) -> Step:
    """These statements are not carried out, and are answered with `code`."""
    kept: list[Any] = []

    def drop(params: dict[str, Any]) -> None:
        kept[:] = params["Statements"]
        params["Statements"] = [it for index, it in enumerate(kept) if index not in indexes]

    def tell(parsed: dict[str, Any]) -> None:
        answered = iter(parsed["Responses"])
        error = {"Error": {"Code": code, "Message": "on purpose"}}
        parsed["Responses"] = [error if index in indexes else next(answered) for index in range(len(kept))]

    return Step(request=drop, answer=tell)


def unprocessed(member: str, requests: str, count: int) -> Step:
    """The last `count` of the batch are not processed."""
    left: dict[str, Any] = {}

    def of(tables: dict[str, Any], table: str) -> list[Any]:
        return tables[table] if requests == "" else tables[table][requests]  # type: ignore[no-any-return]

    def drop(params: dict[str, Any]) -> None:
        [table] = params["RequestItems"]
        batch = of(params["RequestItems"], table)
        left[table] = batch[-count:] if requests == "" else {requests: batch[-count:]}
        batch[-count:] = []

    def tell(parsed: dict[str, Any]) -> None:
        parsed[member] = dict(left)

    return Step(request=drop, answer=tell)


def put_entries(stores: Stores, count: int) -> list[EntryKey]:
    keys = []
    for number in range(count):
        job = make_job(f"job-{number}")
        entry = make_entry(job)
        stores.jobs.write(JobWrite(job=job, previous=None, put_entry=entry))
        keys.append(entry.key)
    return keys


def entries_left(stores: Stores) -> int:
    return sum(len(page) for page in stores.entries.announced(1, since=Instant(0), until=Instant(NOW * 2)))


def test_unprocessed_deletes_are_sent_again_through_throttles(faulty: Faulty) -> None:
    """B59."""
    stores, faults = faulty
    keys = put_entries(stores, 25)
    partly = unprocessed("UnprocessedItems", "", 7)
    nothing = unprocessed("UnprocessedItems", "", 6)
    faults.script("BatchWriteItem", partly, nothing, *[THROTTLED] * 3)

    stores.entries.delete(keys)

    assert entries_left(stores) == 0
    sizes = [len(next(iter(call["RequestItems"].values()))) for call in faults.calls["BatchWriteItem"]]
    assert len(sizes) == 6


def test_deletes_that_are_never_processed_are_an_error(faulty: Faulty) -> None:
    stores, faults = faulty
    keys = put_entries(stores, 2)
    faults.script("BatchWriteItem", *[THROTTLED] * FOR_EVER)

    with pytest.raises(StoreThrottled):
        stores.entries.delete(keys)
    assert entries_left(stores) == 2


def test_unprocessed_keys_are_read_again(faulty: Faulty) -> None:
    stores, faults = faulty
    put_entries(stores, 10)
    faults.script("BatchGetItem", unprocessed("UnprocessedKeys", "Keys", 4))

    assert len(stores.jobs.get_many([f"acme/job-{number}" for number in range(10)])) == 10


@pytest.mark.parametrize(
    "code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "InternalServerError"]
)
def test_a_statement_that_failed_is_run_again_alone(faulty: Faulty, code: str) -> None:
    stores, faults = faulty
    runs = [make_run(NOW + number) for number in range(5)]
    faults.script("BatchExecuteStatement", statement_errors(code, 1, 3), statement_errors(code, 0))

    assert stores.runs.insert(runs) == [None] * 5
    assert [stores.runs.get(run.key) for run in runs] == runs
    assert [len(call["Statements"]) for call in faults.calls["BatchExecuteStatement"]] == [5, 2, 1]


def test_a_fenced_statement_is_not_run_again(faulty: Faulty) -> None:
    stores, faults = faulty
    runs = [make_run(NOW), make_run(NOW + 1, token=2)]
    stores.runs.insert(runs)
    faults.script("BatchExecuteStatement", statement_errors("ThrottlingError", 0))

    assert stores.runs.finish([finish_of(runs[0]), finish_of(runs[1], token=1)]) == [SUCCEEDED, None]
    assert [len(call["Statements"]) for call in faults.calls["BatchExecuteStatement"]] == [2, 2, 1]


def test_of_a_batch_done_in_part_each_run_is_answered_and_nobody_says_that_the_rest_was_not_written(
    faulty: Faulty,
) -> None:
    stores, faults = faulty
    runs = [make_run(NOW + number) for number in range(3)]
    throttled = Step(refusal={"Responses": [{"Error": {"Code": "ThrottlingError"}}]}, status=200)
    faults.script("BatchExecuteStatement", statement_errors("ThrottlingError", 2), *[throttled] * FOR_EVER)

    *put, left = stores.runs.insert(runs)

    assert put == [None, None]
    assert isinstance(left, OutcomeUnknown)


def test_a_table_that_gives_out_after_a_batch_is_asked_for_no_other(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("BatchExecuteStatement", Step(), *[THROTTLED] * FOR_EVER)

    answers = stores.runs.insert([make_run(NOW + number) for number in range(80)])

    assert answers[:25] == [None] * 25
    assert {type(answer) for answer in answers[25:]} == {OutcomeUnknown}
    assert {len(call["Statements"]) for call in faults.calls["BatchExecuteStatement"]} == {25}
    assert len(faults.calls["BatchExecuteStatement"]) < 15


@pytest.mark.parametrize("code", ["ValidationError", "ItemCollectionSizeLimitExceeded"])
def test_a_run_that_is_refused_for_good_is_refused_alone(faulty: Faulty, code: str) -> None:
    stores, faults = faulty
    runs = [make_run(NOW + number) for number in range(30)]
    faults.script("BatchExecuteStatement", statement_errors(code, 3))

    answers = stores.runs.insert(runs)

    assert isinstance(answers.pop(3), ItemRefused)
    assert answers == [None] * 29
    assert [stores.runs.get(run.key) for run in runs].count(None) == 1


def test_rows_that_are_recorded_stand_though_one_is_refused(faulty: Faulty) -> None:
    stores, faults = faulty
    runs = [make_run(NOW + number) for number in range(30)]
    faults.script("BatchExecuteStatement", statement_errors("ValidationError", 3))

    with pytest.raises(ItemRefused):
        stores.runs.record(runs)
    assert [stores.runs.get(run.key) for run in runs].count(None) == 1


@pytest.mark.parametrize("code", ["ValidationException", "SerializationException"])
def test_a_call_that_is_refused_for_one_of_its_statements_is_made_for_the_others(faulty: Faulty, code: str) -> None:
    stores, faults = faulty
    runs = [make_run(NOW + number) for number in range(9)]
    stores.runs.insert(runs)
    bad = {"S": runs[4].run_id}

    def refuse(params: dict[str, Any]) -> None:
        if any(bad in statement["Parameters"] for statement in params["Statements"]):
            # Whatever is no statement refuses the whole call.
            params["Statements"] = [{"Statement": "nonsense"}]

    def tell(parsed: dict[str, Any]) -> None:
        if "Error" in parsed["Responses"][0]:
            raise ClientError({"Error": {"Code": code, "Message": "on purpose"}}, "BatchExecuteStatement")

    faults.script("BatchExecuteStatement", *[Step(request=refuse, answer=tell)] * FOR_EVER)

    beats = [Heartbeat(run.key, run.token, Instant(run.lease_until + MINUTE)) for run in runs]
    answers = stores.runs.heartbeat(beats)
    ends = stores.runs.finish([finish_of(run) for run in runs])

    assert answers.pop(4) is HeartbeatAnswer.FAILED
    assert set(answers) == {HeartbeatAnswer.KEPT}
    assert isinstance(ends.pop(4), ItemRefused)
    assert ends == [SUCCEEDED] * 8


def test_a_right_that_is_missing_is_said_of_the_call_and_not_of_each_run(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("BatchExecuteStatement", refused("AccessDeniedException"))

    with pytest.raises(WriteRefused, match="AccessDenied") as raised:
        stores.runs.insert([make_run(), make_run(NOW + 1)])
    assert not isinstance(raised.value, ItemRefused)
    assert len(faults.calls["BatchExecuteStatement"]) == 1


def test_a_run_that_moves_each_time_its_end_is_asked_for_is_given_up(faulty: Faulty) -> None:
    stores, faults = faulty
    run = make_run()
    stores.runs.insert([run])
    faults.script("UpdateItem", *[refused("ConditionalCheckFailedException")] * 1_000)

    with pytest.raises(StoreContended):
        stores.runs.request_cancel(run.key, at=NOW, expires_at=NOW)
    assert len(faults.calls["UpdateItem"]) < 100


def test_a_batch_throttled_to_the_end_wrote_nothing(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("BatchExecuteStatement", *[THROTTLED] * FOR_EVER)

    with pytest.raises(StoreThrottled):
        stores.runs.insert([make_run()])
    assert stores.runs.get(make_run().key) is None


def test_a_transaction_in_conflict_is_made_again(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("TransactWriteItems", CONFLICT, CONFLICT)

    assert stores.jobs.write(creation(make_job())) == Written()
    assert len(faults.calls["TransactWriteItems"]) == 3


def test_a_transaction_in_conflict_to_the_end_wrote_nothing(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("TransactWriteItems", *[CONFLICT] * FOR_EVER)

    with pytest.raises(StoreContended):
        stores.jobs.write(creation(make_job()))
    assert stores.jobs.get("acme/job") is None


def test_a_transaction_refused_by_what_is_gone_is_made_again(faulty: Faulty) -> None:
    stores, faults = faulty
    job = make_job()
    stores.jobs.write(creation(job))
    condition = [{"Code": "ConditionalCheckFailed"}, {"Code": "None"}]
    faults.script("TransactWriteItems", refused("TransactionCanceledException", CancellationReasons=condition))

    assert stores.jobs.write(change_of(job)) == Written()


@pytest.mark.parametrize("step", [refused("TransactionConflictException"), THROTTLED, UNSENT])
def test_a_single_write_that_was_refused_is_made_again(faulty: Faulty, step: Step) -> None:
    stores, faults = faulty
    stores.jobs.write(creation(make_job()))
    faults.script("UpdateItem", step)

    assert stores.entries.move(make_entry().key, Instant(NOW + 1))


def test_what_cannot_be_reached_was_not_written(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("PutItem", *[UNSENT] * FOR_EVER)

    with pytest.raises(WriteRefused):
        stores.runs.take_over(make_run(), seen=make_run())


def test_a_mistake_of_ours_is_not_made_again(faulty: Faulty) -> None:
    stores, faults = faulty
    faults.script("GetItem", refused("AccessDeniedException"))

    with pytest.raises(WriteRefused, match="AccessDenied"):
        stores.jobs.get("acme/job")
    assert len(faults.calls["GetItem"]) == 1


def test_attributes_that_are_not_the_api_s_outlive_its_changes(
    faulty: Faulty, dynamodb: Any, tables: TableNames
) -> None:
    stores, _ = faulty
    job = make_job(payload=1)
    stores.jobs.write(creation(job))
    key = {"job_key": {"S": job.job_key}}
    dynamodb.update_item(
        TableName=tables.jobs,
        Key=key,
        UpdateExpression="SET holder = :holder",
        ExpressionAttributeValues={":holder": {"S": "run"}},
    )

    stores.jobs.write(change_of(job, payload=None))

    row = dynamodb.get_item(TableName=tables.jobs, Key=key)["Item"]
    assert row["holder"] == {"S": "run"}
    assert "payload" not in row
