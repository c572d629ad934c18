"""Queries, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb.attributes import Row
from shared.adapters.dynamodb.conditions import names

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Of the rows of one page of a list; with the last of them it may be more. The rest is left to the next page.
BYTES_OF_A_PAGE = 4_000_000


@dataclass(frozen=True, slots=True)
class Query:
    table: str
    condition: str
    values: Row
    index: str | None = None
    is_consistent: bool = True
    is_ascending: bool = True
    page_size: int | None = None

    def request(self, start: Row | None) -> dict[str, Any]:
        request: dict[str, Any] = {
            "TableName": self.table,
            "KeyConditionExpression": self.condition,
            "ExpressionAttributeNames": names(self.condition),
            "ExpressionAttributeValues": self.values,
            "ConsistentRead": self.is_consistent,
            "ScanIndexForward": self.is_ascending,
        }
        if self.index is not None:
            request["IndexName"] = self.index
        if self.page_size is not None:
            request["Limit"] = self.page_size
        if start is not None:
            request["ExclusiveStartKey"] = start
        return request


@dataclass(frozen=True, slots=True)
class RowPage:
    """`next_start` continues the query; None: it ended."""

    rows: list[Row]
    next_start: Row | None


class Queries:
    def __init__(self, client: DynamoDBClient, calls: Calls) -> None:
        self._client = client
        self._calls = calls

    def page(self, operation: str, query: Query, start: Row | None = None) -> RowPage:
        request = query.request(start)
        answer: dict[str, Any] = self._calls.repeat(operation, lambda: dict(self._client.query(**request)))
        return RowPage(answer["Items"], answer.get("LastEvaluatedKey"))

    def pages(self, operation: str, query: Query) -> Iterator[list[Row]]:
        """All pages; the next is read when it is asked for. None is empty."""
        start: Row | None = None
        while True:
            page = self.page(operation, query, start)
            if page.rows:
                yield page.rows
            if page.next_start is None:
                return
            start = page.next_start
