"""Rows that hold all of one owner's few things of a kind: read at once, and changed under the row's revision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed, TransactionRefused
from shared.adapters.dynamodb import conditions
from shared.adapters.dynamodb.attributes import Row, document, read_document, read_whole, whole
from shared.adapters.dynamodb.receipts import Receipts
from shared.domain.access import Receipt
from shared.domain.errors import StoreContended

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ITEMS = "items"
_REVISION = "revision"
#: How often a change is decided anew because another was faster, and the longest pause before that.
CHANGE_ATTEMPTS = 20
_PAUSE_SECONDS = 0.05

Items = list[dict[str, Any]]
#: What the list becomes, or the answer of the change when nothing is to be written.
Decide = Callable[[Items], Items | bool]


@dataclass(frozen=True, slots=True)
class Room:
    """Of a list: no two items have the same member `identity`, and there are `limit` at most."""

    identity: str
    limit: int


class OwnerLists:
    def __init__(self, client: DynamoDBClient, table: str, calls: Calls, receipts: Receipts) -> None:
        self._client = client
        self._table = table
        self._calls = calls
        self._receipts = receipts

    def read(self, operation: str, key: Row) -> Items:
        """Strongly consistent; empty when there is no row."""
        return self._read(operation, key)[0]

    def put(
        self, operation: str, key: Row, item: dict[str, Any], *, room: Room, receipt: Receipt | None = None
    ) -> bool:
        """Append, in one transaction with the receipt. True also when this very item is there; False when there is no
        room, or the receipt's Idempotency-Key was used before.
        """

        def decide(items: Items) -> Items | bool:
            if item in items:
                return True
            is_taken = any(each[room.identity] == item[room.identity] for each in items)
            has_room = not is_taken and len(items) < room.limit
            return [*items, item] if has_room and self._receipts.in_the_way(receipt) is None else False

        return self._change(operation, key, decide, receipt)

    def delete(self, operation: str, key: Row, **identity: str) -> bool:
        """False when no item is of that identity."""
        ((name, value),) = identity.items()
        was_there = False

        def decide(items: Items) -> Items | bool:
            # Gone when it is looked at again: by an earlier attempt, whose answer was lost.
            nonlocal was_there
            left = [each for each in items if each[name] != value]
            if left == items:
                return was_there
            was_there = True
            return left

        return self._change(operation, key, decide)

    def _read(self, operation: str, key: Row) -> tuple[Items, int | None]:
        answer = self._calls.repeat(
            operation, lambda: self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        )
        row = answer.get("Item")
        return ([], None) if row is None else (read_document(row[_ITEMS]), read_whole(row[_REVISION]))

    def _change(self, operation: str, key: Row, decide: Decide, receipt: Receipt | None = None) -> bool:
        for _ in range(CHANGE_ATTEMPTS):
            items, revision = self._read(operation, key)
            after = decide(items)
            if isinstance(after, bool):
                return after
            put = self._put(key, after, revision)
            try:
                self._calls.repeat(operation, partial(self._write, put, receipt))
            except (ConditionFailed, TransactionRefused):
                self._calls.pause(_PAUSE_SECONDS)
                continue
            return True
        raise StoreContended(operation, f"others changed the list {CHANGE_ATTEMPTS} times meanwhile")

    def _write(self, put: dict[str, Any], receipt: Receipt | None) -> None:
        if receipt is None:
            self._client.put_item(**put)
            return
        items: list[Any] = [{"Put": put}, self._receipts.put(receipt)]
        self._client.transact_write_items(TransactItems=items)

    def _put(self, key: Row, items: Items, revision: int | None) -> dict[str, Any]:
        condition = conditions.LIST_IS_NEW if revision is None else conditions.LIST_IS_AS_READ
        request: dict[str, Any] = {
            "TableName": self._table,
            "Item": {**key, _ITEMS: document(items), _REVISION: whole((revision or 0) + 1)},
            "ConditionExpression": condition,
            "ExpressionAttributeNames": conditions.names(condition),
        }
        if revision is not None:
            request["ExpressionAttributeValues"] = {":read_revision": whole(revision)}
        return request
