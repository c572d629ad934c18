"""How many jobs an owner has, counted from the slices of index `by_owner`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb import conditions
from shared.adapters.dynamodb.attributes import Row, text
from shared.domain.sharding import OWNER_SLICES, owner_slices

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Below this the slices are too uneven for one to speak for all.
SMALLEST_ESTIMATED = 10_000


class OwnerCount:
    def __init__(self, client: DynamoDBClient, calls: Calls, table: str) -> None:
        self._client = client
        self._calls = calls
        self._table = table

    def count(self, owner_id: str, *, at_most: int) -> int:
        """Exact up to `at_most`, but where one slice already shows that the owner is far below it."""
        first, *others = owner_slices(owner_id)
        found = self._of_slice(first, at_most)
        if at_most >= SMALLEST_ESTIMATED and 2 * OWNER_SLICES * found <= at_most:
            return OWNER_SLICES * found
        for name in others:
            if found >= at_most:
                break
            found += self._of_slice(name, at_most - found)
        return min(found, at_most)

    def _of_slice(self, name: str, at_most: int) -> int:
        found, start = 0, None
        while found < at_most:
            answer = self._page(name, start)
            found += answer["Count"]
            start = answer.get("LastEvaluatedKey")
            if start is None:
                break
        return found

    def _page(self, name: str, start: Row | None) -> dict[str, Any]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": "by_owner",
            "KeyConditionExpression": conditions.JOBS_OF_SLICE,
            "ExpressionAttributeNames": conditions.names(conditions.JOBS_OF_SLICE),
            "ExpressionAttributeValues": {":slice": text(name)},
            "Select": "COUNT",
        }
        if start is not None:
            request["ExclusiveStartKey"] = start
        return self._calls.repeat("jobs.count_of_owner", lambda: dict(self._client.query(**request)))
