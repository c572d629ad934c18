"""Receipts of Idempotency-Keys, as they are put in one transaction with what they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb import access_rows, conditions
from shared.adapters.dynamodb.attributes import whole
from shared.domain.access import Receipt

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Receipts:
    def __init__(self, client: DynamoDBClient, calls: Calls, table: str) -> None:
        self._client = client
        self._calls = calls
        self._table = table

    def in_the_way(self, receipt: Receipt | None) -> Receipt | None:
        """What is stored under the key of this receipt and still counts."""
        if receipt is None:
            return None
        key = access_rows.receipt_key(receipt.owner_id, receipt.idempotency_key)
        answer = self._calls.repeat(
            "receipts.get", lambda: self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        )
        row = answer.get("Item")
        stored = None if row is None else access_rows.read_receipt(row)
        return stored if stored is not None and stored.expires_at > receipt.at else None

    def put(self, receipt: Receipt) -> dict[str, Any]:
        """The item of a transaction that stores it where none is in the way."""
        return {
            "Put": {
                "TableName": self._table,
                "Item": access_rows.write_receipt(receipt),
                "ConditionExpression": conditions.RECEIPT_IS_FREE,
                "ExpressionAttributeNames": conditions.names(conditions.RECEIPT_IS_FREE),
                "ExpressionAttributeValues": {":now": whole(receipt.at)},
            }
        }
