from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.memory.tables import MemoryTables
from shared.adapters.run_rules import (
    ended,
    is_as_seen,
    is_claim_of,
    is_failure,
    is_listed,
    is_plan_of,
    is_plannable,
    is_running,
    stored_status,
    taken_over,
    with_cancel_requested,
)
from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import StoreError
from shared.domain.instants import Instant
from shared.domain.keys import RunKey, owner_of, run_id_of
from shared.domain.pages import Page
from shared.domain.run import Finish, Run, RunStatus, as_cancelled
from shared.ports.job_store import ReceiptUsed, Written
from shared.ports.run_store import (
    ANY_RUN,
    Erased,
    FailureFilter,
    Heartbeat,
    HeartbeatAnswer,
    PlanOutcome,
    RowThere,
    RunFilter,
)

_LIST = "runs"
_FAILURES = "failures"


class MemoryRunStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
        with self._tables.lock:
            return [self._insert(run) for run in runs]

    def _insert(self, run: Run) -> Run | None:
        existing = self._tables.runs.get(run.key)
        if existing is None:
            self._tables.put_run(run, self._listed(run))
        return existing

    def _listed(self, run: Run) -> Instant | None:
        """One that is alive stays among those that may be, once it is there."""
        is_there = run.key in self._tables.alive.get(run.job_key, {})
        return run.lease_until if is_listed(run) or (is_there and run.status.is_alive) else None

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
        with self._tables.lock:
            row = self._tables.runs.get(run.key)
            if row is None or (not is_as_seen(row, seen) and not is_claim_of(row, run)):
                return row if row is not None else seen
            if is_as_seen(row, seen):
                self._tables.put_run(taken_over(run, seen), self._listed(run))
            return None

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        with self._tables.lock:
            return [self._heartbeat(beat) for beat in beats]

    def _heartbeat(self, beat: Heartbeat) -> HeartbeatAnswer:
        row = self._tables.runs.get(beat.key)
        if row is None or not is_running(row, beat.token):
            return HeartbeatAnswer.FENCED
        row = replace(
            row,
            lease_until=beat.lease_until,
            started_at=row.started_at if beat.started_at is None else beat.started_at,
            revision=row.revision if beat.revision is None else beat.revision,
            progress=row.progress if beat.progress is None else beat.progress,
        )
        self._tables.put_run(row, beat.lease_until if beat.lists else self._listed(row))
        return HeartbeatAnswer.KEPT if row.cancel_requested_at is None else HeartbeatAnswer.CANCEL_REQUESTED

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        with self._tables.lock:
            return [self._finish(finish) for finish in finishes]

    def _finish(self, finish: Finish) -> RunStatus | None:
        row = self._tables.runs.get(finish.key)
        if row is None or not is_running(row, finish.token):
            return stored_status(row, finish)
        leaves = finish.is_listed or finish.status.is_alive
        if row.cancel_requested_at is not None:
            finish = as_cancelled(finish)
        # A mark that its worker does not know of is left behind, as in the table.
        left = None if leaves else self._tables.alive.get(row.job_key, {}).get(row.key)
        self._tables.put_run(ended(row, finish), finish.lease_until if finish.status.is_alive else left)
        return finish.status

    def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
        with self._tables.lock:
            was_running = is_running(self._tables.runs.get(finish.key), finish.token)
            status = self._finish(finish)
            if was_running and status is RunStatus.WAITING:
                self._tables.put_entry(entry)
            return status

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        with self._tables.lock:
            used = self._tables.receipt_in_the_way(receipt)
            if used is not None and used != receipt:
                return ReceiptUsed(used)
            row = self._tables.runs.get(run.key)
            if is_plan_of(row, run):
                return Written()
            if used is not None or not is_plannable(row, seen):
                return RowThere(row)
            self._tables.put_run(run if seen is None else taken_over(run, seen), self._listed(run))
            self._tables.put_entry(entry)
            if receipt is not None:
                self._tables.put_receipt(receipt)
            return Written()

    def request_cancel(
        self, key: RunKey, *, at: Instant, expires_at: Instant, receipt: Receipt | None = None
    ) -> Run | None:
        with self._tables.lock:
            row = self._tables.runs.get(key)
            if row is None or self._tables.receipt_in_the_way(receipt) is not None:
                return row
            if receipt is not None:
                self._tables.put_receipt(receipt)
            after = with_cancel_requested(row, at=at, expires_at=expires_at)
            if after.status is not row.status:
                self._tables.put_run(after, None)
            elif after != row:
                self._tables.runs[key] = after
            return after

    def record(self, runs: Sequence[Run]) -> list[bool]:
        with self._tables.lock:
            return [self.insert([run]) == [None] for run in runs]

    def get(self, key: RunKey) -> Run | None:
        with self._tables.lock:
            return self._tables.runs.get(key)

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        with self._tables.lock:
            return {key: self._tables.runs[key] for key in keys if key in self._tables.runs}

    def between(self, job_key: str, *, since: Instant, until: Instant) -> list[Run]:
        first, last = run_id_of(since), run_id_of(until)
        with self._tables.lock:
            runs = [self._tables.runs[key] for key in sorted(self._tables.runs_of_job.get(job_key, ()))]
        before = [run for run in runs if run.run_id < first]
        return before[-1:] + [run for run in runs if first <= run.run_id <= last and run.slot < until]

    def erase(self, job_key: str, *, limit: int) -> Erased:
        with self._tables.lock:
            runs = [self._tables.runs[key] for key in sorted(self._tables.runs_of_job.get(job_key, ()))]
            ended = [run for run in runs if not run.status.is_alive][:limit]
            for run in ended:
                self._tables.remove_run(run.key)
            return Erased(len(ended), is_done=len(ended) == len(runs))

    def list_of_job(
        self, job_key: str, *, only: RunFilter = ANY_RUN, limit: int, cursor: str | None = None
    ) -> Page[Run]:
        before = None if cursor is None else _run_id_in(cursor, job_key)
        with self._tables.lock:
            runs = [self._tables.runs[key] for key in self._tables.runs_of_job.get(job_key, ())]
        admitted = (run for run in runs if (before is None or run.run_id < before) and only.admits(run))
        left = sorted(admitted, key=lambda run: run.run_id, reverse=True)
        page = tuple(left[:limit])
        return Page(page, encode_cursor(_LIST, job_key, page[-1].run_id) if len(left) > limit else None)

    def list_failures(self, owner_id: str, *, only: FailureFilter, limit: int, cursor: str | None = None) -> Page[Run]:
        after = None if cursor is None else _position(decode_cursor(cursor, _FAILURES, owner_id))
        with self._tables.lock:
            failed = [
                run
                for run in self._tables.runs.values()
                if is_failure(run.status) and owner_of(run.job_key) == owner_id and only.admits(run)
            ]
        left = sorted((run for run in failed if after is None or _rank(run) > after), key=_rank)
        page = tuple(left[:limit])
        if len(left) <= limit:
            return Page(page)
        last = page[-1]
        return Page(page, encode_cursor(_FAILURES, owner_id, [last.ended_at, last.job_key, last.run_id]))

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        with self._tables.lock:
            in_index = self._tables.alive.get(job_key, {})
            return [
                run
                for key in sorted(self._tables.runs_of_job.get(job_key, ()))
                if (run := self._tables.runs[key]).status.is_alive and (run.slot >= since or key in in_index)
            ]


def _run_id_in(cursor: str, job_key: str) -> str:
    run_id = decode_cursor(cursor, _LIST, job_key)
    if not isinstance(run_id, str):
        raise foreign_cursor()
    return run_id


def _rank(run: Run) -> tuple[int, str, str]:
    return -(run.ended_at or 0), run.job_key, run.run_id


def _position(position: object) -> tuple[int, str, str]:
    match position:
        case [int() as ended_at, str() as job_key, str() as run_id]:
            return -ended_at, job_key, run_id
    raise foreign_cursor()
