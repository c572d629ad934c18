from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed, TransactionRefused
from shared.adapters.dynamodb import conditions, entry_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.entry_rows import StoredRow
from shared.adapters.dynamodb.queries import Queries, Query
from shared.adapters.dynamodb.statements import Statements, update
from shared.config import TableNames
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey, announced_id

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Rows of a page: a shard is planned while its next page is still in the table.
PAGE_SIZE = 500


class DynamoEntryStore:
    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        calls: Calls,
        *,
        page_size: int = PAGE_SIZE,
    ) -> None:
        self._client = client
        self._table = tables.job_schedules
        self._page_size = page_size
        self._calls = calls
        self._queries = Queries(client, calls)
        self._batches = Batches(client, calls)
        self._statements = Statements(client, calls)

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[StoredRow]]:
        # Every id has a name behind its instant, so no id of the next millisecond is within this.
        first, behind = announced_id(max(since, Instant(0)), ""), announced_id(Instant(until + 1), "")
        query = Query(
            table=self._table,
            condition=conditions.ENTRIES_ANNOUNCED,
            values={":shard": whole(shard), ":since": text(first), ":until": text(behind)},
            page_size=self._page_size,
        )
        return self._pages("entries.announced", query, since, until)

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[StoredRow]]:
        query = Query(
            table=self._table,
            index="by_next",
            condition=conditions.ENTRIES_PARKED,
            values={":shard": whole(shard), ":since": whole(since), ":until": whole(until)},
            page_size=self._page_size,
        )
        return self._pages("entries.parked", query, since, until)

    def _pages(self, operation: str, query: Query, since: Instant, until: Instant) -> Iterator[list[StoredRow]]:
        if since > until:
            return
        for rows in self._queries.pages(operation, query):
            yield [StoredRow(row) for row in rows]

    def get(self, key: EntryKey) -> StoredRow | None:
        row = self._row(key)
        return None if row is None else StoredRow(row)

    def _row(self, key: EntryKey) -> Row | None:
        answer = self._calls.repeat(
            "entries.get",
            lambda: self._client.get_item(TableName=self._table, Key=entry_rows.key_of(key), ConsistentRead=True),
        )
        return answer.get("Item")

    def delete(self, keys: Collection[EntryKey]) -> None:
        self._batches.delete("entries.delete", self._table, [entry_rows.key_of(key) for key in keys])

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        row = None if key.is_parked else self._row(key)
        if row is None:
            return self._raise(key.parked, next_at)
        if StoredRow(row).next_at >= next_at:
            return False
        try:
            self._park(row, next_at)
        except TransactionRefused:
            return self._raise(key.parked, next_at)
        return True

    def _park(self, row: Row, next_at: Instant) -> None:
        """Raises TransactionRefused when the entry is not there any more."""
        items: list[Any] = [
            {
                "Delete": {
                    "TableName": self._table,
                    "Key": {name: row[name] for name in (entry_rows.PARTITION, entry_rows.SORT)},
                    "ConditionExpression": conditions.ENTRY_IS_THERE,
                    "ExpressionAttributeNames": conditions.names(conditions.ENTRY_IS_THERE),
                }
            },
            {"Put": {"TableName": self._table, "Item": entry_rows.parked(row, next_at)}},
        ]
        self._calls.repeat("entries.park", lambda: self._client.transact_write_items(TransactItems=items))

    def _raise(self, key: EntryKey, next_at: Instant) -> bool:
        """Of an entry that is parked."""
        try:
            self._calls.repeat(
                "entries.move",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=entry_rows.key_of(key),
                    UpdateExpression=conditions.MOVE_ENTRY,
                    ConditionExpression=conditions.ENTRY_IS_EARLIER,
                    ExpressionAttributeNames=conditions.names(conditions.MOVE_ENTRY, conditions.ENTRY_IS_EARLIER),
                    ExpressionAttributeValues={":next_at": whole(next_at), ":fresh": entry_rows.IS_FRESH},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                ),
            )
        except ConditionFailed as failed:
            # There already, perhaps by an attempt whose answer was lost.
            return failed.row is not None and entry_rows.next_at_of(failed.row) == next_at
        return True

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        rows = [entry_rows.key_of(key) for key in dict.fromkeys(keys)]
        statements = [update(self._table, key=row, sets={}, removes=[entry_rows.FRESH], where={}) for row in rows]
        # One that is gone is refused, for a PartiQL update creates no row.
        self._statements.run("entries.clear_fresh", statements)
