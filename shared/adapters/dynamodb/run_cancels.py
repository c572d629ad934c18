"""Requests to end a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed, TransactionRefused
from shared.adapters.dynamodb import conditions, run_rows
from shared.adapters.dynamodb.receipts import Receipts
from shared.adapters.run_rules import with_cancel_requested
from shared.config import TableNames
from shared.domain.access import Receipt
from shared.domain.errors import StoreContended
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.run import Run

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: A run moves with each claim, attempt and end. Whoever loses so often against it asks again.
_RACES_LOST = 20


class RunCancels:
    def __init__(
        self, client: DynamoDBClient, calls: Calls, tables: TableNames, get: Callable[[RunKey], Run | None]
    ) -> None:
        self._client = client
        self._calls = calls
        self._table = tables.job_runs
        self._receipts = Receipts(client, calls, tables.access)
        self._get = get

    def request(self, key: RunKey, *, at: Instant, expires_at: Instant, receipt: Receipt | None) -> Run | None:
        for _ in range(_RACES_LOST):
            # The receipt first: what is read behind it is the run as an earlier call left it.
            is_used = self._receipts.in_the_way(receipt) is not None
            row = self._get(key)
            if row is None or is_used:
                return row
            after = with_cancel_requested(row, at=at, expires_at=expires_at)
            update = [] if after == row else [self._update(after, seen=row)]
            if self._write(update, receipt):
                return after
        raise StoreContended("runs.request_cancel", f"{key}: its workers were faster each time")

    def _write(self, updates: list[dict[str, Any]], receipt: Receipt | None) -> bool:
        """False: somebody claimed, planned or ended the run since, or used the receipt's key."""
        items: list[Any] = [{"Update": update} for update in updates]
        if receipt is not None:
            items.append(self._receipts.put(receipt))
        try:
            self._calls.repeat("runs.request_cancel", lambda: self._send(items))
        except (ConditionFailed, TransactionRefused):
            return False
        return True

    def _send(self, items: list[Any]) -> None:
        match items:
            case []:
                return
            case [{"Update": update}]:
                self._client.update_item(**update)
            case _:
                request_token = sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:36]
                self._client.transact_write_items(TransactItems=items, ClientRequestToken=request_token)

    def _update(self, run: Run, *, seen: Run) -> dict[str, Any]:
        """What a request to cancel changes, where nobody claimed, planned or ended the run since."""
        condition, values = conditions.all_as_seen(run_rows.write_run(seen), conditions.FENCE_OF_RUN)
        row = run_rows.write_cancellation(run)
        expression = conditions.set_and_remove(row, [])
        return {
            "TableName": self._table,
            "Key": run_rows.key_of(run.key),
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": conditions.names(expression, condition),
            "ExpressionAttributeValues": values | {f":{name}": value for name, value in row.items()},
        }
