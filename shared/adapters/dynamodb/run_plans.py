"""The transactions that write a run together with its single-fire entry."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import TransactionRefused
from shared.adapters.dynamodb import conditions, entry_rows, run_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.receipts import Receipts
from shared.adapters.run_rules import is_plan_of, is_plannable, taken_over
from shared.config import TableNames
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import OutcomeUnknown, StoreContended
from shared.domain.keys import RunKey
from shared.domain.run import Finish, Run, RunStatus
from shared.ports.job_store import ReceiptUsed, Written
from shared.ports.run_store import PlanOutcome, RowThere

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: How often a refused plan whose reason is gone when it is looked at is tried again.
PLAN_ATTEMPTS = 5


class RunPlans:
    def __init__(self, client: DynamoDBClient, calls: Calls, tables: TableNames) -> None:
        self._client = client
        self._calls = calls
        self._tables = tables
        self._receipts = Receipts(client, calls, tables.access)

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None) -> PlanOutcome:
        items: list[Any] = [{"Put": self._run_put(run, seen)}, {"Put": self._entry_put(entry)}]
        if receipt is not None:
            items.append(self._receipts.put(receipt))
        for _ in range(PLAN_ATTEMPTS):
            try:
                self._transact("runs.plan", items)
            except (TransactionRefused, OutcomeUnknown) as failure:
                outcome = self._outcome_of_failed(run, seen, receipt)
                if outcome is not None:
                    return outcome
                if isinstance(failure, OutcomeUnknown):
                    raise
            else:
                return Written()
        raise StoreContended("runs.plan", f"{run.key}: refused, but by nothing that is there afterwards")

    def postpone(self, finish: Finish, entry: Entry) -> bool:
        """False: refused, perhaps because an earlier attempt was carried out."""
        items = [{"Update": self._finish_update(finish)}, {"Put": self._entry_put(entry)}]
        try:
            self._transact("runs.postpone", items)
        except TransactionRefused:
            return False
        return True

    def _transact(self, operation: str, items: list[Any]) -> None:
        request_token = sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:36]
        self._calls.repeat(
            operation,
            lambda: self._client.transact_write_items(TransactItems=items, ClientRequestToken=request_token),
        )

    def _outcome_of_failed(self, run: Run, seen: Run | None, receipt: Receipt | None) -> PlanOutcome | None:
        """What stands there now; None when that would not refuse the plan."""
        used = self._receipts.in_the_way(receipt)
        if used is not None and used != receipt:
            return ReceiptUsed(used)
        row = self._row(run.key)
        if is_plan_of(row, run):
            return Written()
        if used is not None or not is_plannable(row, seen):
            return RowThere(row)
        return None

    def _row(self, key: RunKey) -> Run | None:
        answer = self._calls.repeat(
            "runs.get",
            lambda: self._client.get_item(
                TableName=self._tables.job_runs, Key=run_rows.key_of(key), ConsistentRead=True
            ),
        )
        row = answer.get("Item")
        return None if row is None else run_rows.read_run(row)

    def _entry_put(self, entry: Entry) -> dict[str, Any]:
        return {"TableName": self._tables.job_schedules, "Item": entry_rows.write_entry(entry)}

    def _run_put(self, run: Run, seen: Run | None) -> dict[str, Any]:
        condition, values = conditions.RUN_IS_NEW, Row()
        if seen is not None:
            condition, values = conditions.all_as_seen(run_rows.write_run(seen), conditions.FENCE_OF_RUN)
        put = {
            "TableName": self._tables.job_runs,
            "Item": run_rows.write_run(run if seen is None else taken_over(run, seen)),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": conditions.names(condition),
        }
        return put | ({"ExpressionAttributeValues": values} if values else {})

    def _finish_update(self, finish: Finish) -> dict[str, Any]:
        row = run_rows.write_end(finish)
        attempts = run_rows.write_attempts(finish.attempts, token=finish.token)
        expression = conditions.set_and_remove(row, (), paths={run_rows.ATTEMPTS: tuple(attempts)})
        values = {f":{name}": value for name, value in (row | attempts).items()}
        values |= {":held_token": whole(finish.token), ":running": text(RunStatus.RUNNING)}
        return {
            "TableName": self._tables.job_runs,
            "Key": run_rows.key_of(finish.key),
            "UpdateExpression": expression,
            "ConditionExpression": conditions.RUN_IS_HELD,
            "ExpressionAttributeNames": conditions.names(expression, conditions.RUN_IS_HELD),
            "ExpressionAttributeValues": values,
        }
