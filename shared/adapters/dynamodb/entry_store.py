from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed
from shared.adapters.dynamodb import conditions, entry_rows
from shared.adapters.dynamodb.attributes import whole
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.queries import Queries, Query
from shared.adapters.dynamodb.statements import Statements, update
from shared.config import TableNames
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Rows of a page of `due`: a shard is planned while its next page is still in the table.
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

    def due(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[Entry]]:
        if since > until:
            return
        query = Query(
            table=self._table,
            index="by_next",
            condition=conditions.ENTRIES_DUE,
            values={":shard": whole(shard), ":since": whole(since), ":until": whole(until)},
            page_size=self._page_size,
        )
        for rows in self._queries.pages("entries.due", query):
            yield [entry_rows.read_entry(row) for row in rows]

    def get(self, key: EntryKey) -> Entry | None:
        answer = self._calls.repeat(
            "entries.get",
            lambda: self._client.get_item(TableName=self._table, Key=entry_rows.key_of(key), ConsistentRead=True),
        )
        row = answer.get("Item")
        return None if row is None else entry_rows.read_entry(row)

    def delete(self, keys: Collection[EntryKey]) -> None:
        self._batches.delete("entries.delete", self._table, [entry_rows.key_of(key) for key in keys])

    def move(self, key: EntryKey, next_at: Instant) -> bool:
        try:
            self._calls.repeat(
                "entries.move",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=entry_rows.key_of(key),
                    UpdateExpression=conditions.MOVE_ENTRY,
                    ConditionExpression=conditions.ENTRY_IS_EARLIER,
                    ExpressionAttributeNames=conditions.names(conditions.MOVE_ENTRY, conditions.ENTRY_IS_EARLIER),
                    ExpressionAttributeValues={":next_at": whole(next_at)},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                ),
            )
        except ConditionFailed as failed:
            return failed.row is not None and _stands_at(entry_rows.read_entry(failed.row), next_at)
        return True

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        rows = [entry_rows.key_of(key) for key in dict.fromkeys(keys)]
        statements = [update(self._table, key=row, sets={}, removes=[entry_rows.FRESH], where={}) for row in rows]
        # One that is gone is refused, for a PartiQL update creates no row.
        self._statements.run("entries.clear_fresh", statements)


def _stands_at(entry: Entry, next_at: Instant) -> bool:
    """Moved there before, perhaps by an attempt whose answer was lost."""
    return entry.next_at == next_at and not entry.fresh
