"""A handler's own writes to DynamoDB: a stale try is refused, in both forms of boto3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from carillon import Fence
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator

RUN, LATER_RUN = "20261127T013000000Z", "20261128T013000000Z"
_numbers = count(1)


@pytest.fixture
def table(emulator_endpoint: str) -> Iterator[Any]:
    with aws_environment(emulator_endpoint):
        yield boto3.resource("dynamodb").create_table(
            TableName=f"images-{next(_numbers)}",
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )


def refused(write: Any, **request: Any) -> bool:
    """Any other refusal is raised."""
    try:
        write(**request)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return True
    return False


def test_a_stale_put_is_refused_and_the_newest_may_put_again(table: Any) -> None:
    stale, newest = Fence(RUN, 9), Fence(RUN, 10)
    table.put_item(**stale.put(Item={"id": "1", "by": "stale"}))
    table.put_item(**newest.put(Item={"id": "1", "by": "newest"}))

    assert refused(table.put_item, **stale.put(Item={"id": "1", "by": "stale"}))
    assert not refused(table.put_item, **newest.put(Item={"id": "1", "by": "newest", "again": True}))
    assert table.get_item(Key={"id": "1"})["Item"]["by"] == "newest"


@pytest.mark.parametrize(
    "expression",
    ["SET width = :width", "set width = :width REMOVE former", "REMOVE former ADD hits :width", "ADD hits :width", ""],
)
def test_a_stale_update_is_refused_whatever_it_updates(table: Any, expression: str) -> None:
    request: dict[str, Any] = {"Key": {"id": "1"}, "UpdateExpression": expression}
    if ":width" in expression:
        request["ExpressionAttributeValues"] = {":width": 3}
    table.update_item(**Fence(RUN, 2).update(**request))

    assert refused(table.update_item, **Fence(RUN, 1).update(**request))
    assert not refused(table.update_item, **Fence(RUN, 2).update(**request))


def test_a_condition_of_the_users_own_still_holds(table: Any) -> None:
    table.put_item(Item={"id": "1", "state": "open"})
    request: dict[str, Any] = {
        "Key": {"id": "1"},
        "UpdateExpression": "SET #state = :closed",
        "ConditionExpression": "#state = :open OR #state = :ajar",
        "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {":closed": "closed", ":open": "open", ":ajar": "ajar"},
    }
    fence = Fence(RUN, 1)

    assert not refused(table.update_item, **fence.update(**request))
    assert refused(table.update_item, **fence.update(**request))


def test_a_later_run_takes_the_row_and_an_earlier_one_is_stale_whatever_its_token(table: Any) -> None:
    table.put_item(**Fence(RUN, 7).put(Item={"id": "1"}))

    assert not refused(table.put_item, **Fence(LATER_RUN, 1).put(Item={"id": "1"}))
    assert refused(table.delete_item, **Fence(RUN, 8).delete(Key={"id": "1"}))


def test_clients_write_the_same_fence(table: Any) -> None:
    client, name = table.meta.client, table.name
    low_level: Any = boto3.client("dynamodb")
    newest, stale = Fence(RUN, 2), Fence(RUN, 1)
    low_level.put_item(**newest.low_level.put(TableName=name, Item={"id": {"S": "1"}}))

    key = {"TableName": name, "Key": {"id": {"S": "1"}}}
    assert refused(low_level.update_item, **stale.low_level.update(**key, UpdateExpression="REMOVE former"))
    assert refused(client.put_item, **stale.put(TableName=name, Item={"id": "1"}))
    low_level.transact_write_items(TransactItems=[{"Delete": newest.low_level.delete(**key)}])
    assert "Item" not in table.get_item(Key={"id": "1"})


def test_a_condition_that_is_an_object_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match="as a text"):
        Fence(RUN, 1).put(Item={}, ConditionExpression=object())
