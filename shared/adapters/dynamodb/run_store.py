from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import ConditionFailed
from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.dynamodb import conditions, run_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.owner_listing import OwnerListing, failures_of_owner
from shared.adapters.dynamodb.queries import Queries, Query
from shared.adapters.dynamodb.rounds import rounds
from shared.adapters.dynamodb.run_plans import RunPlans
from shared.adapters.dynamodb.statements import Statement, Statements, insert, update
from shared.adapters.run_rules import is_claim_of, is_running, stored_status, taken_over, with_cancel_requested
from shared.config import TableNames
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.keys import RunKey, run_id_of
from shared.domain.pages import Page
from shared.domain.run import Finish, Run, RunStatus, as_cancelled
from shared.ports.run_store import Erased, FailureFilter, Heartbeat, HeartbeatAnswer, PlanOutcome

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_LIST = "runs"
#: Of a row whose end nobody has asked for.
_UNCANCELLED = (run_rows.CANCEL_REQUESTED_AT.name,)
_LONGEST_RUN_ID = 200


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
        self._failures = OwnerListing(self._queries, self._batches, failures_of_owner(self._table))

    def insert(self, runs: Sequence[Run]) -> list[Run | None]:
        first = _first_of_each(runs)
        existing = self._insert(list(first.values()))
        # Later runs of a key meet the row that is there now, which may be the first of this very batch.
        met = {key: existing.get(key, run) for key, run in first.items()}
        return [existing.get(run.key) if run is first[run.key] else met[run.key] for run in runs]

    def _insert(self, runs: Sequence[Run]) -> dict[RunKey, Run]:
        """Put them, all of different keys; answers the rows that were there."""
        statements = [insert(self._table, run_rows.write_run(run)) for run in runs]
        applied = self._statements.run("runs.insert", statements)
        refused = [run for run, was_applied in zip(runs, applied, strict=True) if not was_applied]
        existing = self._rows([run.key for run in refused])
        # Expired between the insert and the read: then the place is free after all.
        vanished = [run for run in refused if run.key not in existing]
        return existing | (self._insert(vanished) if vanished else {})

    def _rows(self, keys: Sequence[RunKey]) -> dict[RunKey, Run]:
        if not keys:
            return {}
        rows = self._batches.get("runs.get_many", self._table, [run_rows.key_of(key) for key in keys])
        return {run.key: run for run in map(run_rows.read_run, rows)}

    def record(self, runs: Sequence[Run]) -> list[bool]:
        first = _first_of_each(runs)
        statements = [insert(self._table, run_rows.write_run(run)) for run in first.values()]
        is_put = dict(zip(first, self._statements.run("runs.record", statements), strict=True))
        return [is_put.pop(run.key, False) for run in runs]

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
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
        applied = self._run_in_rounds("runs.heartbeat", beats, [self._heartbeat(beat, _UNCANCELLED) for beat in beats])
        answers = [HeartbeatAnswer.KEPT if is_applied else HeartbeatAnswer.FENCED for is_applied in applied]
        # A request to cancel refuses the first, cheap write; whoever holds the run keeps it all the same.
        held = self._held_and_cancelled(beats, applied)
        statements = [self._heartbeat(beats[index]) for index in held]
        again = self._run_in_rounds("runs.heartbeat", [beats[index] for index in held], statements)
        for index, is_applied in zip(held, again, strict=True):
            if is_applied:
                answers[index] = HeartbeatAnswer.CANCEL_REQUESTED
        return answers

    def _heartbeat(self, beat: Heartbeat, missing: Sequence[str] = ()) -> Statement:
        sets: Row = {
            run_rows.LEASE_UNTIL.name: whole(beat.lease_until),
            run_rows.ALIVE_AT: whole(beat.lease_until),
        }
        if beat.started_at is not None:
            sets[run_rows.STARTED_AT.name] = whole(beat.started_at)
        if beat.progress is not None:
            sets[run_rows.PROGRESS.name] = text(beat.progress)
        key = run_rows.key_of(beat.key)
        return update(self._table, key=key, sets=sets, where=_is_running(beat.token), missing=missing)

    def _held_and_cancelled(self, held: Sequence[Heartbeat | Finish], applied: Sequence[bool]) -> list[int]:
        """The indexes of those that were refused for nothing but a request to cancel."""
        refused = [index for index, is_applied in enumerate(applied) if not is_applied]
        rows = self._rows([held[index].key for index in refused])
        return [
            index
            for index in refused
            if (row := rows.get(held[index].key)) is not None
            and is_running(row, held[index].token)
            and row.cancel_requested_at is not None
        ]

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | None]:
        statements = [self._finish(finish, _UNCANCELLED) for finish in finishes]
        applied = self._run_in_rounds("runs.finish", finishes, statements)
        answers = [finish.status if is_applied else None for finish, is_applied in zip(finishes, applied, strict=True)]
        held = self._held_and_cancelled(finishes, applied)
        cancelled = [as_cancelled(finishes[index]) for index in held]
        self._run_in_rounds("runs.finish", cancelled, [self._finish(finish) for finish in cancelled])
        refused = [index for index, answer in enumerate(answers) if answer is None]
        rows = self._rows([finishes[index].key for index in refused])
        for index in refused:
            answers[index] = stored_status(rows.get(finishes[index].key), finishes[index])
        return answers

    def _finish(self, finish: Finish, missing: Sequence[str] = ()) -> Statement:
        sets = run_rows.write_end(finish)
        for name, attempt in run_rows.write_attempts(finish.attempts, token=finish.token).items():
            sets[f"{run_rows.ATTEMPTS}.{name}"] = attempt
        removes = [] if run_rows.ALIVE_AT in sets else [run_rows.ALIVE_AT]
        key = run_rows.key_of(finish.key)
        where = _is_running(finish.token)
        return update(self._table, key=key, sets=sets, removes=removes, where=where, missing=missing)

    def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
        if self._plans.postpone(finish, entry):
            return finish.status
        [answer] = self.finish([finish]) if self._is_cancelled(finish) else [None]
        return answer or stored_status(self.get(finish.key), finish)

    def _is_cancelled(self, finish: Finish) -> bool:
        row = self.get(finish.key)
        return row is not None and is_running(row, finish.token) and row.cancel_requested_at is not None

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        return self._plans.plan(run, entry, seen=seen, receipt=receipt)

    def request_cancel(self, key: RunKey, *, at: Instant, expires_at: Instant) -> Run | None:
        row = self.get(key)
        while row is not None:
            after = with_cancel_requested(row, at=at, expires_at=expires_at)
            if after == row or self._replace(after, seen=row):
                return after
            row = self.get(key)
        return None

    def _replace(self, run: Run, *, seen: Run) -> bool:
        """Write what a request to cancel changes, where nobody claimed, planned or ended the run since."""
        condition, values = conditions.all_as_seen(run_rows.write_run(seen), conditions.FENCE_OF_RUN)
        row = run_rows.write_cancellation(run)
        expression = conditions.set_and_remove(row, [] if run.status.is_alive else [run_rows.ALIVE_AT])
        try:
            self._calls.repeat(
                "runs.request_cancel",
                lambda: self._client.update_item(
                    TableName=self._table,
                    Key=run_rows.key_of(run.key),
                    UpdateExpression=expression,
                    ConditionExpression=condition,
                    ExpressionAttributeNames=conditions.names(expression, condition),
                    ExpressionAttributeValues=values | {f":{name}": value for name, value in row.items()},
                ),
            )
        except ConditionFailed:
            return False
        return True

    def _run_in_rounds(
        self, operation: str, about: Sequence[Heartbeat | Finish], statements: Sequence[Statement]
    ) -> list[bool]:
        """One batch may name a row once: a second statement about it waits for the first."""
        applied = [False] * len(statements)
        for indexes in rounds([each.key for each in about]):
            answers = self._statements.run(operation, [statements[index] for index in indexes])
            for index, answer in zip(indexes, answers, strict=True):
                applied[index] = answer
        return applied

    def get(self, key: RunKey) -> Run | None:
        answer = self._calls.repeat(
            "runs.get",
            lambda: self._client.get_item(TableName=self._table, Key=run_rows.key_of(key), ConsistentRead=True),
        )
        row = answer.get("Item")
        return None if row is None else run_rows.read_run(row)

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        return self._rows(list(keys))

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

    def list_of_job(self, job_key: str, *, limit: int, cursor: str | None = None) -> Page[Run]:
        query = Query(
            table=self._table,
            condition=conditions.RUNS_OF_JOB,
            values={":job_key": text(job_key)},
            is_ascending=False,
            page_size=limit,
        )
        start = None if cursor is None else run_rows.key_of(RunKey(job_key, _run_id_in(cursor, job_key)))
        page = self._queries.page("runs.list_of_job", query, start)
        runs = tuple(map(run_rows.read_run, page.rows))
        return Page(runs, encode_cursor(_LIST, job_key, runs[-1].run_id) if runs and page.next_start else None)

    def list_failures(self, owner_id: str, *, only: FailureFilter, limit: int, cursor: str | None = None) -> Page[Run]:
        return self._failures.page(owner_id, admits=only.admits, limit=limit, cursor=cursor)

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        recent = Query(
            table=self._table,
            condition=conditions.RUNS_SINCE,
            values={":job_key": text(job_key), ":run_id": text(run_id_of(since))},
        )
        in_index = Query(
            table=self._table,
            index="alive",
            condition=conditions.RUNS_OF_JOB,
            values={":job_key": text(job_key)},
        )
        runs = {
            run.run_id: run
            for query in (recent, in_index)
            for rows in self._queries.pages("runs.alive", query)
            for run in map(run_rows.read_run, rows)
        }
        return [run for _, run in sorted(runs.items()) if run.status.is_alive]


def _first_of_each(runs: Sequence[Run]) -> dict[RunKey, Run]:
    first: dict[RunKey, Run] = {}
    for run in runs:
        first.setdefault(run.key, run)
    return first


def _is_running(token: int) -> Row:
    return {run_rows.TOKEN.name: whole(token), run_rows.STATUS.name: text(RunStatus.RUNNING)}


def _run_id_in(cursor: str, job_key: str) -> str:
    run_id = decode_cursor(cursor, _LIST, job_key)
    if not isinstance(run_id, str) or not run_id.isascii() or not 0 < len(run_id) <= _LONGEST_RUN_ID:
        raise foreign_cursor()
    return run_id
