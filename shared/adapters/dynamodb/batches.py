"""Reads, puts and deletes of many rows by key: cut into batches, repeated keys sent once, and what was not processed
sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb.attributes import Row
from shared.domain.errors import StoreError, StoreThrottled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: What BatchGetItem and BatchWriteItem take.
GET_BATCH = 100
WRITE_BATCH = 25


class Batches:
    def __init__(self, client: DynamoDBClient, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    def get(self, operation: str, table: str, keys: Sequence[Row], *, is_consistent: bool = True) -> list[Row]:
        """The rows that exist, in any order."""
        rows: list[Row] = []

        def send(batch: Sequence[Row]) -> list[tuple[Row, StoreError]]:
            answer: dict[str, Any] = dict(
                self._client.batch_get_item(
                    RequestItems={table: {"Keys": list(batch), "ConsistentRead": is_consistent}}
                )
            )
            rows.extend(answer["Responses"].get(table, []))
            return _unprocessed(operation, answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", []))

        self._calls.in_batches(operation, _unique(keys), GET_BATCH, send)
        return rows

    def put(self, operation: str, table: str, rows: Sequence[Row]) -> None:
        """Rows of different keys, whatever is there."""

        def send(batch: Sequence[Row]) -> list[tuple[Row, StoreError]]:
            requests: list[Any] = [{"PutRequest": {"Item": row}} for row in batch]
            answer: dict[str, Any] = dict(self._client.batch_write_item(RequestItems={table: requests}))
            left = answer.get("UnprocessedItems", {}).get(table, [])
            return _unprocessed(operation, [request["PutRequest"]["Item"] for request in left])

        self._calls.in_batches(operation, rows, WRITE_BATCH, send)

    def delete(self, operation: str, table: str, keys: Sequence[Row]) -> None:
        def send(batch: Sequence[Row]) -> list[tuple[Row, StoreError]]:
            requests: list[Any] = [{"DeleteRequest": {"Key": key}} for key in batch]
            answer: dict[str, Any] = dict(self._client.batch_write_item(RequestItems={table: requests}))
            left = answer.get("UnprocessedItems", {}).get(table, [])
            return _unprocessed(operation, [request["DeleteRequest"]["Key"] for request in left])

        self._calls.in_batches(operation, _unique(keys), WRITE_BATCH, send)


def _unique(keys: Sequence[Row]) -> list[Row]:
    """A repeated key fails the whole call, so each is sent once."""
    return list({repr(sorted(key.items())): key for key in keys}.values())


def _unprocessed(operation: str, keys: list[Row]) -> list[tuple[Row, StoreError]]:
    reason = StoreThrottled(operation, f"{len(keys)} keys not processed")
    return [(key, reason) for key in keys]
