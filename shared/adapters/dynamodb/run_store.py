from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed
from shared.adapters.dynamodb import conditions, run_rows
from shared.adapters.dynamodb.attributes import text
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.held_runs import HeldRuns
from shared.adapters.dynamodb.listed_runs import ListedRuns
from shared.adapters.dynamodb.owner_listing import OwnerListing, failures_of_owner
from shared.adapters.dynamodb.queries import Queries, Query
from shared.adapters.dynamodb.run_cancels import RunCancels
from shared.adapters.dynamodb.run_listing import RunListing
from shared.adapters.dynamodb.run_plans import RunPlans
from shared.adapters.dynamodb.statements import Statements, insert
from shared.adapters.run_rules import is_claim_of, is_listed, is_running, stored_status, taken_over
from shared.config import TableNames
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import StoreContended, StoreError
from shared.domain.instants import Instant
from shared.domain.keys import RunKey, run_id_of
from shared.domain.pages import Page
from shared.domain.run import Finish, Run, RunStatus
from shared.ports.run_store import (
    ANY_RUN,
    Erased,
    FailureFilter,
    Heartbeat,
    HeartbeatAnswer,
    PlanOutcome,
    RunFilter,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: A row that refuses an insert and is gone when it is read has just expired. Once is rare.
_VANISHED_FOLLOWED = 3


class DynamoRunStore:
    def __init__(
        self,
        client: DynamoDBClient,
        tables: TableNames,
        calls: Calls,
    ) -> None:
        self._client = client
        self._table = tables.job_runs
        self._calls = calls
        self._queries = Queries(client, calls)
        self._batches = Batches(client, calls)
        self._statements = Statements(client, calls)
        self._plans = RunPlans(client, calls, tables)
        self._listed = ListedRuns(client, calls, tables.job_runs)
        self._held = HeldRuns(self._statements, tables.job_runs, self.get_many, self._listed)
        self._cancels = RunCancels(client, calls, tables, self.get)
        self._listing = RunListing(self._queries, self._table)
        self._failures = OwnerListing(self._queries, self._batches, failures_of_owner(self._table))

    def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
        first = _first_of_each(runs)
        met = self._insert(list(first.values()))
        # Later runs of a key meet the row that is there now, which may be the first of this very batch.
        return [met.get(run.key) if run is first[run.key] else met.get(run.key, first[run.key]) for run in runs]

    def _insert(self, runs: Sequence[Run]) -> dict[RunKey, Run | StoreError]:
        """Put them, all of different keys; answers the rows that were there, and why some could not be put."""
        self._listed.put((run.key, run.lease_until) for run in runs if is_listed(run))
        met: dict[RunKey, Run | StoreError] = {}
        for _ in range(_VANISHED_FOLLOWED):
            answers = self._statements.each(
                "runs.insert", [insert(self._table, run_rows.write_run(run)) for run in runs]
            )
            met |= {run.key: each for run, each in zip(runs, answers, strict=True) if isinstance(each, StoreError)}
            refused = [run for run, each in zip(runs, answers, strict=True) if each is False]
            met |= self.get_many([run.key for run in refused])
            # Expired between the insert and the read: then the place is free after all.
            runs = [run for run in refused if run.key not in met]
            if not runs:
                return met
        vanished = StoreContended("runs.insert", "each row that was in the way was gone when it was read")
        return met | dict.fromkeys((run.key for run in runs), vanished)

    def record(self, runs: Sequence[Run]) -> list[bool]:
        first = _first_of_each(runs)
        statements = [insert(self._table, run_rows.write_run(run)) for run in first.values()]
        is_put = dict(zip(first, self._statements.run("runs.record", statements), strict=True))
        return [is_put.pop(run.key, False) for run in runs]

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
        if is_listed(run) and seen.status is not RunStatus.WAITING:
            self._listed.put([(run.key, run.lease_until)])
        row = self._take_over(run, seen)
        if row is None and seen.status.is_alive and not run.status.is_alive:
            self._listed.remove([run.key])
        return row

    def _take_over(self, run: Run, seen: Run) -> Run | None:
        condition, values = conditions.all_as_seen(run_rows.write_run(seen), conditions.CLAIM_OF_RUN)
        try:
            self._calls.repeat(
                "runs.take_over",
                lambda: self._client.put_item(
                    TableName=self._table,
                    Item=run_rows.write_run(taken_over(run, seen)),
                    ConditionExpression=condition,
                    ExpressionAttributeNames=conditions.names(condition),
                    ExpressionAttributeValues=values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                ),
            )
        except ConditionFailed as failed:
            if failed.row is None:
                return seen
            row = run_rows.read_run(failed.row)
            return None if is_claim_of(row, run) else row
        return None

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        return self._held.heartbeat(beats)

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        return self._held.finish(finishes)

    def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
        if finish.lease_until is not None:
            self._listed.put([(finish.key, finish.lease_until)])
        if self._plans.postpone(finish, entry):
            return finish.status
        [answer] = self.finish([finish]) if self._is_cancelled(finish) else [None]
        if isinstance(answer, StoreError):
            raise answer
        return answer or stored_status(self.get(finish.key), finish)

    def _is_cancelled(self, finish: Finish) -> bool:
        row = self.get(finish.key)
        return row is not None and is_running(row, finish.token) and row.cancel_requested_at is not None

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        self._listed.put([(run.key, run.lease_until)])
        return self._plans.plan(run, entry, seen=seen, receipt=receipt)

    def request_cancel(
        self, key: RunKey, *, at: Instant, expires_at: Instant, receipt: Receipt | None = None
    ) -> Run | None:
        row = self._cancels.request(key, at=at, expires_at=expires_at, receipt=receipt)
        if row is not None and row.status is RunStatus.CANCELLED:
            self._listed.remove([key])
        return row

    def get(self, key: RunKey) -> Run | None:
        answer = self._calls.repeat(
            "runs.get",
            lambda: self._client.get_item(TableName=self._table, Key=run_rows.key_of(key), ConsistentRead=True),
        )
        row = answer.get("Item")
        return None if row is None else run_rows.read_run(row)

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        if not keys:
            return {}
        rows = self._batches.get("runs.get_many", self._table, [run_rows.key_of(key) for key in keys])
        return {run.key: run for run in map(run_rows.read_run, rows)}

    def between(self, job_key: str, *, since: Instant, until: Instant) -> list[Run]:
        first, last = text(run_id_of(since)), text(run_id_of(until))
        before = Query(
            table=self._table,
            condition=conditions.RUNS_BEFORE,
            values={":job_key": text(job_key), ":run_id": first},
            is_ascending=False,
            page_size=1,
        )
        inside = Query(
            table=self._table,
            condition=conditions.RUNS_BETWEEN,
            values={":job_key": text(job_key), ":first": first, ":last": last},
        )
        rows = self._queries.page("runs.between", before).rows
        runs = [run_rows.read_run(row) for page in self._queries.pages("runs.between", inside) for row in page]
        return [*map(run_rows.read_run, rows), *(run for run in runs if run.slot < until)]

    def erase(self, job_key: str, *, limit: int) -> Erased:
        query = Query(
            table=self._table,
            condition=conditions.RUNS_OF_JOB,
            values={":job_key": text(job_key)},
            page_size=limit,
        )
        count, is_any_alive, start = 0, False, None
        while count < limit:
            page = self._queries.page("runs.erase", query, start)
            runs = [run_rows.read_run(row) for row in page.rows]
            keys = [run_rows.key_of(run.key) for run in runs if not run.status.is_alive]
            self._batches.delete("runs.erase", self._table, keys)
            count += len(keys)
            is_any_alive |= len(keys) < len(runs)
            start = page.next_start
            if start is None:
                break
        return Erased(count, is_done=start is None and not is_any_alive)

    def list_of_job(
        self, job_key: str, *, only: RunFilter = ANY_RUN, limit: int, cursor: str | None = None
    ) -> Page[Run]:
        return self._listing.page(job_key, only=only, limit=limit, cursor=cursor)

    def list_failures(self, owner_id: str, *, only: FailureFilter, limit: int, cursor: str | None = None) -> Page[Run]:
        return self._failures.page(owner_id, admits=only.admits, limit=limit, cursor=cursor)

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        recent = Query(
            table=self._table,
            condition=conditions.RUNS_SINCE,
            values={":job_key": text(job_key), ":run_id": text(run_id_of(since))},
        )
        listed = self._listed.keys_of(job_key)
        pages = self._queries.pages("runs.alive", recent)
        runs = {run.key: run for rows in pages for run in map(run_rows.read_run, rows)}
        runs |= self.get_many([key for key in listed if key not in runs])
        return [run for _, run in sorted(runs.items()) if run.status.is_alive]


def _first_of_each(runs: Sequence[Run]) -> dict[RunKey, Run]:
    first: dict[RunKey, Run] = {}
    for run in runs:
        first.setdefault(run.key, run)
    return first
