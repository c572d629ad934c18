from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed, TransactionRefused
from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.dynamodb import access_rows, conditions
from shared.adapters.dynamodb.attributes import Row, read_whole, whole
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.columns import seconds_until
from shared.adapters.dynamodb.owner_lists import OwnerLists, Room
from shared.adapters.dynamodb.receipts import Receipts
from shared.config import TableNames
from shared.domain.access import ApiKey, Receipt
from shared.domain.errors import StoreContended
from shared.domain.grants import Grant
from shared.domain.instants import DAY, Instant
from shared.domain.limits import MAX_GRANTS, MAX_SIGNING_KEYS
from shared.domain.pages import Page
from shared.domain.signing import SigningKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_LIST = "keys"
#: Two calls book what does not end right between them.
BOOKING_ATTEMPTS = 3
#: A row that goes late is of no harm, and one that goes early would let its owner's redrives collide.
BOOKING_KEPT_MS = DAY


class DynamoAccessStore:
    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        calls: Calls,
    ) -> None:
        self._client = client
        self._table = tables.access
        self._calls = calls
        self._batches = Batches(client, calls)
        self._receipts = Receipts(client, calls, tables.access)
        self._lists = OwnerLists(client, tables.access, calls, self._receipts)

    def _row(self, operation: str, key: Row) -> Row | None:
        answer = self._calls.repeat(
            operation, lambda: self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        )
        return answer.get("Item")

    def key(self, key_id: str) -> ApiKey | None:
        row = self._row("access.key", access_rows.key_row_key(key_id))
        return None if row is None else access_rows.read_key(row)

    def put_key(self, key: ApiKey, *, receipt: Receipt | None = None) -> bool:
        items = self._put_and_list(key)
        if receipt is not None:
            items.append(self._receipts.put(receipt))
        try:
            self._calls.repeat("access.put_key", lambda: self._client.transact_write_items(TransactItems=items))
        except TransactionRefused:
            return self.key(key.key_id) == key
        return True

    def _put_and_list(self, key: ApiKey) -> list[Any]:
        put = {
            "TableName": self._table,
            "Item": access_rows.write_key(key),
            "ConditionExpression": conditions.KEY_IS_NEW,
            "ExpressionAttributeNames": conditions.names(conditions.KEY_IS_NEW),
        }
        add = {
            "TableName": self._table,
            "Key": access_rows.owner_key(key.owner_id),
            "UpdateExpression": conditions.ADD_KEY_ID,
            "ExpressionAttributeNames": conditions.names(conditions.ADD_KEY_ID),
            "ExpressionAttributeValues": {":key_ids": {"SS": [key.key_id]}},
        }
        return [{"Put": put}, {"Update": add}]

    def revoke_key(self, key_id: str, *, at: Instant) -> bool:
        try:
            self._calls.repeat(
                "access.revoke_key",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=access_rows.key_row_key(key_id),
                    UpdateExpression=conditions.REVOKE_KEY,
                    ConditionExpression=conditions.KEY_EXISTS,
                    ExpressionAttributeNames=conditions.names(conditions.REVOKE_KEY, conditions.KEY_EXISTS),
                    ExpressionAttributeValues={":at": whole(at)},
                ),
            )
        except ConditionFailed:
            return False
        return True

    def keys_of_owner(self, owner_id: str, *, limit: int, cursor: str | None = None) -> Page[ApiKey]:
        after = "" if cursor is None else decode_cursor(cursor, _LIST, owner_id)
        if not isinstance(after, str):
            raise foreign_cursor()
        row = self._row("access.keys_of_owner", access_rows.owner_key(owner_id)) or {}
        ids: list[str] = row[access_rows.KEY_IDS]["SS"] if row else []
        left = sorted(key_id for key_id in ids if key_id > after)
        page = left[:limit]
        keys = [access_rows.key_row_key(key_id) for key_id in page]
        rows = self._batches.get("access.keys_of_owner", self._table, keys)
        found = sorted(map(access_rows.read_key, rows), key=lambda key: key.key_id)
        return Page(tuple(found), encode_cursor(_LIST, owner_id, page[-1]) if len(left) > limit else None)

    def lease_requests(self, owner_id: str, *, window: Instant, count: int, limit: int, expires_at: Instant) -> bool:
        values = {
            ":count": whole(count),
            ":most": whole(limit - count),
            ":expires_at": seconds_until(expires_at),
        }
        try:
            self._calls.repeat(
                "access.lease_requests",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=access_rows.rate_key(owner_id, window),
                    UpdateExpression=conditions.LEASE_REQUESTS,
                    ConditionExpression=conditions.LEASE_IS_LEFT,
                    ExpressionAttributeNames=conditions.names(conditions.LEASE_REQUESTS, conditions.LEASE_IS_LEFT),
                    ExpressionAttributeValues=values,
                ),
            )
        except ConditionFailed:
            return False
        return True

    def book_starts(self, owner_id: str, *, at: Instant, length_ms: int) -> Instant:
        end = at + length_ms
        first = {":at": whole(at), ":end": whole(end), ":expires_at": seconds_until(end + BOOKING_KEPT_MS)}
        more = {":at": whole(at), ":length": whole(length_ms), ":seconds": seconds_until(length_ms)}
        for _ in range(BOOKING_ATTEMPTS):
            if self._book(owner_id, conditions.BOOK_STARTS, conditions.STARTS_ARE_FREE, first) is not None:
                return at
            booked_until = self._book(owner_id, conditions.BOOK_MORE_STARTS, conditions.STARTS_ARE_BOOKED, more)
            if booked_until is not None:
                return Instant(booked_until - length_ms)
        raise StoreContended("access.book_starts", f"neither free nor booked, {BOOKING_ATTEMPTS} times")

    def _book(self, owner_id: str, expression: str, condition: str, values: Row) -> int | None:
        """Until when starts are booked then; None when the condition does not hold."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "Key": access_rows.starts_key(owner_id),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": conditions.names(expression, condition),
            "ExpressionAttributeValues": values,
            "ReturnValues": "UPDATED_NEW",
        }
        try:
            answer = self._calls.repeat("access.book_starts", lambda: self._client.update_item(**request))
        except ConditionFailed:
            return None
        return read_whole(answer["Attributes"][access_rows.BOOKED_UNTIL])

    def receipt(self, owner_id: str, idempotency_key: str) -> Receipt | None:
        row = self._row("access.receipt", access_rows.receipt_key(owner_id, idempotency_key))
        receipt = None if row is None else access_rows.read_receipt(row)
        return None if receipt is None or self._calls.clock.now() >= receipt.expires_at else receipt

    def put_receipt(self, receipt: Receipt) -> Receipt | None:
        request = {**self._receipts.put(receipt)["Put"], "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        try:
            self._calls.repeat("access.put_receipt", lambda: self._client.put_item(**request))
        except ConditionFailed as failed:
            if failed.row is None:
                raise StoreContended("access.put_receipt", "refused by a receipt that is gone") from failed
            stored = access_rows.read_receipt(failed.row)
            # Perhaps by an earlier attempt of this very call.
            return None if stored == receipt else stored
        return None

    def grants(self, owner_id: str) -> tuple[Grant, ...]:
        stored = self._lists.read("access.grants", access_rows.grants_key(owner_id))
        return tuple(access_rows.grant_from_json(owner_id, each) for each in stored)

    def put_grant(self, grant: Grant, *, receipt: Receipt | None = None) -> bool:
        key = access_rows.grants_key(grant.owner_id)
        item = access_rows.to_json(grant)
        room = Room("grant_id", MAX_GRANTS)
        return self._lists.put("access.put_grant", key, item, room=room, receipt=receipt)

    def delete_grant(self, owner_id: str, grant_id: str) -> bool:
        return self._lists.delete("access.delete_grant", access_rows.grants_key(owner_id), grant_id=grant_id)

    def signing_keys(self, owner_id: str) -> tuple[SigningKey, ...]:
        stored = self._lists.read("access.signing_keys", access_rows.signing_keys_key(owner_id))
        return tuple(access_rows.signing_key_from_json(owner_id, each) for each in stored)

    def put_signing_key(self, key: SigningKey, *, receipt: Receipt | None = None) -> bool:
        row_key = access_rows.signing_keys_key(key.owner_id)
        item = access_rows.to_json(key)
        room = Room("key_id", MAX_SIGNING_KEYS)
        return self._lists.put("access.put_signing_key", row_key, item, room=room, receipt=receipt)

    def delete_signing_key(self, owner_id: str, key_id: str) -> bool:
        return self._lists.delete("access.delete_signing_key", access_rows.signing_keys_key(owner_id), key_id=key_id)
