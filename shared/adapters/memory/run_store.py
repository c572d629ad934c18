from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.memory.tables import MemoryTables
from shared.adapters.run_rules import alive_at, ended, is_as_seen, is_claim_of, is_this_finish, taken_over
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.pages import Page
from shared.domain.run import Finish, Run, RunStatus
from shared.ports.run_store import Heartbeat

_LIST = "runs"


class MemoryRunStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def insert(self, runs: Sequence[Run]) -> list[Run | None]:
        with self._tables.lock:
            return [self._insert(run) for run in runs]

    def _insert(self, run: Run) -> Run | None:
        existing = self._tables.runs.get(run.key)
        if existing is None:
            self._tables.put_run(run, alive_at(run))
        return existing

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
        with self._tables.lock:
            row = self._tables.runs.get(run.key)
            if row is None or (not is_as_seen(row, seen) and not is_claim_of(row, run)):
                return row if row is not None else seen
            if is_as_seen(row, seen):
                self._tables.put_run(taken_over(run, seen), alive_at(run))
            return None

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[bool]:
        with self._tables.lock:
            return [self._heartbeat(beat) for beat in beats]

    def _heartbeat(self, beat: Heartbeat) -> bool:
        row = self._tables.runs.get(beat.key)
        if row is None or row.token != beat.token or row.status is not RunStatus.RUNNING:
            return False
        row = replace(
            row,
            lease_until=beat.lease_until,
            started_at=row.started_at if beat.started_at is None else beat.started_at,
            progress=row.progress if beat.progress is None else beat.progress,
        )
        self._tables.put_run(row, beat.lease_until)
        return True

    def finish(self, finishes: Sequence[Finish]) -> list[bool]:
        with self._tables.lock:
            return [self._finish(finish) for finish in finishes]

    def _finish(self, finish: Finish) -> bool:
        row = self._tables.runs.get(finish.key)
        if row is None:
            return False
        if row.token != finish.token or row.status is not RunStatus.RUNNING:
            return is_this_finish(row, finish)
        self._tables.put_run(ended(row, finish), finish.ended_at if finish.status.is_alive else None)
        return True

    def record(self, runs: Sequence[Run]) -> None:
        self.insert(runs)

    def get(self, key: RunKey) -> Run | None:
        with self._tables.lock:
            return self._tables.runs.get(key)

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        with self._tables.lock:
            return {key: self._tables.runs[key] for key in keys if key in self._tables.runs}

    def list_of_job(self, job_key: str, *, limit: int, cursor: str | None = None) -> Page[Run]:
        before = None if cursor is None else _run_id_in(cursor, job_key)
        with self._tables.lock:
            runs = [self._tables.runs[key] for key in self._tables.runs_of_job.get(job_key, ())]
        left = sorted(
            (run for run in runs if before is None or run.run_id < before), key=lambda run: run.run_id, reverse=True
        )
        page = tuple(left[:limit])
        return Page(page, encode_cursor(_LIST, job_key, page[-1].run_id) if len(left) > limit else None)

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
