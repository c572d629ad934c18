from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed, TransactionRefused
from shared.adapters.dynamodb import conditions, entry_rows, job_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.job_holds import JobHolds
from shared.adapters.dynamodb.owner_count import OwnerCount
from shared.adapters.dynamodb.owner_listing import OwnerListing, jobs_of_owner
from shared.adapters.dynamodb.queries import Queries
from shared.adapters.dynamodb.receipts import Receipts
from shared.adapters.dynamodb.statements import Statement, Statements, update
from shared.adapters.job_rules import is_as_read, is_completed, is_written
from shared.config import TableNames
from shared.domain.errors import OutcomeUnknown, StoreContended
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, Job, JobState
from shared.domain.overlap import Holder
from shared.domain.pages import Page
from shared.ports.job_store import (
    Completion,
    Hold,
    JobFilter,
    JobWrite,
    ReceiptUsed,
    RevisionConflict,
    WriteOutcome,
    Written,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: How often a refused write whose reason is gone when it is looked at is tried again.
WRITE_ATTEMPTS = 5


class DynamoJobStore:
    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        calls: Calls,
    ) -> None:
        self._client = client
        self._tables = tables
        self._calls = calls
        self._batches = Batches(client, calls)
        self._statements = Statements(client, calls)
        self._receipts = Receipts(client, calls, tables.access)
        self._holds = JobHolds(client, calls, tables.jobs)
        self._count = OwnerCount(client, calls, tables.jobs)
        self._listing = OwnerListing(Queries(client, calls), self._batches, jobs_of_owner(tables.jobs))

    def get(self, job_key: str) -> Job | None:
        key = job_rows.key_of(job_key)
        answer = self._calls.repeat(
            "jobs.get", lambda: self._client.get_item(TableName=self._tables.jobs, Key=key, ConsistentRead=True)
        )
        row = answer.get("Item")
        return None if row is None else job_rows.read_job(row)

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        keys = [job_rows.key_of(job_key) for job_key in job_keys]
        jobs = map(job_rows.read_job, self._batches.get("jobs.get_many", self._tables.jobs, keys))
        return {job.job_key: job for job in jobs}

    def write(self, change: JobWrite) -> WriteOutcome:
        items = self._transaction(change)
        request_token = sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:36]
        for _ in range(WRITE_ATTEMPTS):
            try:
                self._calls.repeat(
                    "jobs.write",
                    lambda: self._client.transact_write_items(TransactItems=items, ClientRequestToken=request_token),
                )
            except TransactionRefused:
                outcome = self._outcome_of_refused(change)
                if outcome is not None:
                    return outcome
            except OutcomeUnknown:
                if is_written(change.job, self.get(change.job.job_key)):
                    return Written()
                raise
            else:
                return Written()
        raise StoreContended("jobs.write", f"{change.job.job_key}: refused, but by nothing that is there afterwards")

    def _outcome_of_refused(self, change: JobWrite) -> WriteOutcome | None:
        """Why the transaction was refused; None when what refused it has gone meanwhile."""
        used = self._receipts.in_the_way(change.receipt)
        if used is not None and used != change.receipt:
            return ReceiptUsed(used)
        current = self.get(change.job.job_key)
        if is_written(change.job, current):
            return Written()
        if used is not None or not is_as_read(change.previous, current):
            return RevisionConflict(current)
        return None

    def _transaction(self, change: JobWrite) -> list[Any]:
        items: list[Any] = [{"Update": self._job_update(change)}]
        if change.put_entry is not None:
            put_entry = entry_rows.write_entry(change.put_entry)
            items.append({"Put": {"TableName": self._tables.job_schedules, "Item": put_entry}})
        items += [
            {"Delete": {"TableName": self._tables.job_schedules, "Key": entry_rows.key_of(key)}}
            for key in change.remove_entries
        ]
        if change.receipt is not None:
            items.append(self._receipts.put(change.receipt))
        return items

    def _job_update(self, change: JobWrite) -> dict[str, Any]:
        """An update, not a put: attributes that are not the API's stay."""
        key = job_rows.key_of(change.job.job_key)
        row = {name: value for name, value in job_rows.write_job(change.job).items() if name not in key}
        expression = conditions.set_and_remove(row, [name for name in job_rows.WRITTEN_ATTRIBUTES if name not in row])
        values = {f":{name}": value for name, value in row.items()}
        condition = conditions.JOB_IS_NEW
        if change.previous is not None:
            condition = conditions.JOB_IS_AS_READ
            values |= {":read_revision": whole(change.previous.revision), ":read_state": text(change.previous.state)}
        return {
            "TableName": self._tables.jobs,
            "Key": key,
            "UpdateExpression": expression,
            "ConditionExpression": condition,
            "ExpressionAttributeNames": conditions.names(expression, condition),
            "ExpressionAttributeValues": values,
        }

    def record_cancellation(self, job_key: str, generation: int, cancellation: Cancellation) -> Cancellation:
        values = {":generation": whole(generation), ":cancellation": job_rows.CANCELLATION.write(cancellation)}
        try:
            self._update(
                "jobs.record_cancellation", job_key, conditions.RECORD_CANCELLATION, conditions.IS_NOT_ANSWERED, values
            )
        except ConditionFailed as failed:
            job = None if failed.row is None else job_rows.read_job(failed.row)
            if job is not None and job.generation == generation and job.cancellation is not None:
                return job.cancellation
        return cancellation

    def complete(self, completions: Sequence[Completion]) -> list[bool]:
        # One batch may name a row once, and of two completions of a job only one can be right.
        first: dict[str, Completion] = {}
        for completion in completions:
            first.setdefault(completion.job_key, completion)
        applied = self._statements.run("jobs.complete", [self._completion(each) for each in first.values()])
        done = {each for each, was_applied in zip(first.values(), applied, strict=True) if was_applied}
        left = {each.job_key for each in completions if each not in done}
        jobs = self.get_many(left) if left else {}
        return [each in done or is_completed(jobs.get(each.job_key), each) for each in completions]

    def _completion(self, completion: Completion) -> Statement:
        return update(
            self._tables.jobs,
            key=job_rows.key_of(completion.job_key),
            sets={
                job_rows.STATE.name: text(JobState.COMPLETED),
                job_rows.TTL: job_rows.ttl_of(completion.expires_at),
                job_rows.EXPIRES_AT.name: whole(completion.expires_at),
            },
            where={job_rows.GENERATION: whole(completion.generation), job_rows.STATE.name: text(JobState.ACTIVE)},
        )

    def _update(self, operation: str, job_key: str, expression: str, condition: str, values: Row) -> None:
        self._calls.repeat(
            operation,
            lambda: self._client.update_item(
                TableName=self._tables.jobs,
                Key=job_rows.key_of(job_key),
                UpdateExpression=expression,
                ConditionExpression=condition,
                ExpressionAttributeNames=conditions.names(expression, condition),
                ExpressionAttributeValues=values,
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            ),
        )

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        return self._holds.hold(hold, limit=limit, now=now, clock_bound_ms=clock_bound_ms)

    def extend(self, holds: Sequence[Hold]) -> list[bool]:
        return self._holds.extend(holds)

    def release(self, holds: Collection[Hold]) -> None:
        self._holds.release(holds)

    def count_of_owner(self, owner_id: str, *, at_most: int) -> int:
        return self._count.count(owner_id, at_most=at_most)

    def list_of_owner(self, owner_id: str, *, only: JobFilter, limit: int, cursor: str | None = None) -> Page[Job]:
        return self._listing.page(owner_id, admits=only.admits, limit=limit, cursor=cursor)
