"""The jobs of an owner, newest first: the slices of index `by_owner`, merged.

A cursor holds the position in each slice: null before its first row, 0 behind its last, else the last row taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.dynamodb import conditions, job_rows
from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.queries import Queries, Query
from shared.domain.instants import LAST_INSTANT
from shared.domain.job import Job
from shared.domain.keys import job_key
from shared.domain.limits import JOB_ID
from shared.domain.pages import Page
from shared.domain.sharding import OWNER_SLICES, owner_slices
from shared.ports.job_store import JobFilter

#: Rows looked at for one page: a filter that admits little answers short pages rather than slow ones.
SCANNED_FOR_A_PAGE = 1_000
SMALLEST_READ = 8
_LIST = "jobs"
_ENDED = 0

Position = None | int | tuple[int, str]


class OwnerListing:
    def __init__(self, queries: Queries, table: str) -> None:
        self._queries = queries
        self._table = table

    def page(self, owner_id: str, *, only: JobFilter, limit: int, cursor: str | None) -> Page[Job]:
        positions = [None] * OWNER_SLICES if cursor is None else _positions(decode_cursor(cursor, _LIST, owner_id))
        slices = self._slices(owner_id, positions, read_size=max(SMALLEST_READ, 2 * limit // OWNER_SLICES))
        heads = [(-head.created_at, number) for number, of in enumerate(slices) if (head := of.head()) is not None]
        heapify(heads)
        admitted: list[Job] = []
        scanned = 0
        while heads and len(admitted) < limit and scanned < SCANNED_FOR_A_PAGE:
            _, number = heappop(heads)
            job = slices[number].take()
            scanned += 1
            if only.admits(job):
                admitted.append(job)
            head = slices[number].head()
            if head is not None:
                heappush(heads, (-head.created_at, number))
        rest = encode_cursor(_LIST, owner_id, [of.position for of in slices]) if heads else None
        return Page(tuple(admitted), rest)

    def _slices(self, owner_id: str, positions: Sequence[Position], *, read_size: int) -> list[_Slice]:
        queries = (
            Query(
                table=self._table,
                index="by_owner",
                condition=conditions.JOBS_OF_SLICE,
                values={":slice": text(name)},
                is_consistent=False,
                is_ascending=False,
                page_size=read_size,
            )
            for name in owner_slices(owner_id)
        )
        return [_Slice(self._queries, owner_id, *each) for each in zip(queries, positions, strict=True)]


class _Slice:
    """One partition of the index, read ahead by a page."""

    def __init__(self, queries: Queries, owner_id: str, query: Query, position: Position) -> None:
        self._queries = queries
        self._query = query
        self._read: deque[Job] = deque()
        self._position = position
        self._has_more = position != _ENDED
        self._start = _start_key(owner_id, query, position) if isinstance(position, tuple) else None

    @property
    def position(self) -> Position:
        return self._position if self._read or self._has_more else _ENDED

    def head(self) -> Job | None:
        """The next job, or None when the slice ended."""
        while not self._read and self._has_more:
            page = self._queries.page("jobs.list_of_owner", self._query, self._start)
            self._read.extend(map(job_rows.read_job, page.rows))
            self._start = page.next_start
            self._has_more = page.next_start is not None
        return self._read[0] if self._read else None

    def take(self) -> Job:
        job = self._read.popleft()
        self._position = (job.created_at, job.job_id)
        return job


def _start_key(owner_id: str, query: Query, position: tuple[int, str]) -> Row:
    created_at, job_id = position
    return {
        **job_rows.key_of(job_key(owner_id, job_id)),
        job_rows.OWNER_SLICE: query.values[":slice"],
        job_rows.CREATED_AT: whole(created_at),
    }


def _positions(stored: object) -> list[Position]:
    if not isinstance(stored, list) or len(stored) != OWNER_SLICES:
        raise foreign_cursor()
    return [_position(position) for position in stored]


def _position(stored: object) -> Position:
    match stored:
        case None:
            return None
        case int() if stored == _ENDED:
            return _ENDED
        case [int() as created_at, str() as job_id] if 0 <= created_at <= LAST_INSTANT and JOB_ID.fullmatch(job_id):
            return int(created_at), job_id
    raise foreign_cursor()
