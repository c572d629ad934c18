from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.job_rules import is_as_read, is_completed, is_written
from shared.adapters.memory.tables import MemoryTables
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, Job, JobState
from shared.domain.overlap import Holder, Place, Taken, room_for
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

_LIST = "jobs"


class MemoryJobStore:
    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def get(self, job_key: str) -> Job | None:
        with self._tables.lock:
            return self._tables.jobs.get(job_key)

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        with self._tables.lock:
            return {key: self._tables.jobs[key] for key in job_keys if key in self._tables.jobs}

    def write(self, change: JobWrite) -> WriteOutcome:
        with self._tables.lock:
            current = self._tables.jobs.get(change.job.job_key)
            used = self._tables.receipt_in_the_way(change.receipt)
            if used is not None and used != change.receipt:
                return ReceiptUsed(used)
            if is_written(change.job, current):
                return Written()
            if used is not None or not is_as_read(change.previous, current):
                return RevisionConflict(current)
            self._apply(change)
            return Written()

    def _apply(self, change: JobWrite) -> None:
        tables = self._tables
        if change.job.job_key not in tables.jobs:
            tables.remove_holders(change.job.job_key)
        tables.jobs[change.job.job_key] = change.job
        for key in change.remove_entries:
            tables.entries.get(key.shard, {}).pop(key.entry_id, None)
        if change.put_entry is not None:
            tables.put_entry(change.put_entry)
        if change.receipt is not None:
            tables.put_receipt(change.receipt)

    def record_cancellation(self, job_key: str, generation: int, cancellation: Cancellation) -> Cancellation:
        with self._tables.lock:
            job = self._tables.jobs.get(job_key)
            if job is None or job.generation != generation:
                return cancellation
            if job.cancellation is None:
                self._tables.jobs[job_key] = replace(job, cancellation=cancellation)
            return job.cancellation or cancellation

    def complete(self, completions: Sequence[Completion]) -> list[bool]:
        with self._tables.lock:
            return [self._complete(completion) for completion in completions]

    def _complete(self, completion: Completion) -> bool:
        job = self._tables.jobs.get(completion.job_key)
        if job is None or job.generation != completion.generation or job.state is not JobState.ACTIVE:
            return is_completed(job, completion)
        self._tables.jobs[job.job_key] = replace(job, state=JobState.COMPLETED, expires_at=completion.expires_at)
        return True

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        with self._tables.lock:
            if hold.place is not Place.OWNER and hold.job_key not in self._tables.jobs:
                return ()
            held = self._tables.holders_of(hold.job_key, hold.place)
            room = room_for(hold.holder, held.values(), limit=limit, now=now, clock_bound_ms=clock_bound_ms)
            if isinstance(room, Taken):
                return room.by
            for gone in room.gone:
                del held[gone.run_id]
            held[hold.holder.run_id] = hold.holder
            return ()

    def extend(self, holds: Sequence[Hold]) -> list[bool]:
        with self._tables.lock:
            are_held = [self._is_held(hold) for hold in holds]
            for hold, is_held in zip(holds, are_held, strict=True):
                if is_held:
                    self._tables.holders_of(hold.job_key, hold.place)[hold.holder.run_id] = hold.holder
            return are_held

    def release(self, holds: Collection[Hold]) -> None:
        with self._tables.lock:
            for hold in holds:
                if self._is_held(hold):
                    del self._tables.holders_of(hold.job_key, hold.place)[hold.holder.run_id]

    def _is_held(self, hold: Hold) -> bool:
        held = self._tables.holders_of(hold.job_key, hold.place).get(hold.holder.run_id)
        return held is not None and held.token == hold.holder.token

    def count_of_owner(self, owner_id: str, *, at_most: int) -> int:
        with self._tables.lock:
            return min(at_most, sum(job.owner_id == owner_id for job in self._tables.jobs.values()))

    def list_of_owner(self, owner_id: str, *, only: JobFilter, limit: int, cursor: str | None = None) -> Page[Job]:
        after = None if cursor is None else _position(decode_cursor(cursor, _LIST, owner_id))
        with self._tables.lock:
            jobs = [job for job in self._tables.jobs.values() if job.owner_id == owner_id and only.admits(job)]
        newest_first = sorted(jobs, key=_rank)
        left = [job for job in newest_first if after is None or _rank(job) > after]
        page = tuple(left[:limit])
        if len(left) <= limit:
            return Page(page)
        return Page(page, encode_cursor(_LIST, owner_id, [page[-1].created_at, page[-1].job_key]))


def _rank(job: Job) -> tuple[int, str]:
    return -job.created_at, job.job_key


def _position(position: object) -> tuple[int, str]:
    match position:
        case [int() as created_at, str() as key]:
            return -created_at, key
    raise foreign_cursor()
