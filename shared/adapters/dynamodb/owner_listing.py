"""What an owner has, newest first: the slices of an index by owner, merged. Of an index of keys the rows are read from
their table.

A cursor holds the position in each slice: null before its first row, 0 behind its last, else the last row taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.dynamodb import conditions, job_rows, run_rows
from shared.adapters.dynamodb.attributes import Row, Value, length_of, read_text, read_whole, text, whole
from shared.adapters.dynamodb.batches import GET_BATCH, Batches
from shared.adapters.dynamodb.queries import BYTES_OF_A_PAGE, Queries, Query
from shared.domain.errors import StoredUnreadable
from shared.domain.instants import LAST_INSTANT
from shared.domain.job import Job
from shared.domain.keys import RunKey, job_id_of, job_key
from shared.domain.limits import JOB_ID, RUN_ID
from shared.domain.pages import Page
from shared.domain.run import Run
from shared.domain.sharding import OWNER_SLICES, owner_slices

#: Rows looked at for one page: a filter that admits little answers short pages rather than slow ones.
SCANNED_FOR_A_PAGE = 1_000
SMALLEST_READ = 8
#: A slice that is read again holds little that is admitted: then so much more is read at once, up to a batch of keys.
_GROWTH = 4
_LARGEST_READ = GET_BATCH
_ENDED = 0

T = TypeVar("T")
#: Instant of the index, then what names the row beside its owner.
Position = None | int | tuple[int, *tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """Which index is listed, and how its rows are read."""

    list_name: str
    table: str
    index: str
    condition: str
    partition: str
    sort: str
    read: Callable[[Row], T]
    position_of: Callable[[Row], tuple[int, *tuple[str, ...]]]
    #: The table's key of the row that `names` names; None when they name none.
    key_of: Callable[[str, Sequence[object]], Row | None]
    #: The members of the table's key, where the index has nothing else of a row.
    keys_only: tuple[str, ...] = ()


def jobs_of_owner(table: str) -> Shape[Job]:
    return Shape(
        list_name="jobs",
        table=table,
        index="by_owner",
        condition=conditions.JOBS_OF_SLICE,
        partition=job_rows.OWNER_SLICE,
        sort=job_rows.CREATED_AT,
        read=job_rows.read_job,
        position_of=lambda row: (read_whole(row[job_rows.CREATED_AT]), _job_id(row[job_rows.KEY])),
        key_of=_key_of_job,
        keys_only=(job_rows.KEY,),
    )


def failures_of_owner(table: str) -> Shape[Run]:
    return Shape(
        list_name="failures",
        table=table,
        index="failures",
        condition=conditions.FAILURES_OF_SLICE,
        partition=run_rows.FAILURE_SLICE,
        sort=run_rows.ENDED_AT,
        read=run_rows.read_run,
        position_of=lambda row: (
            read_whole(row[run_rows.ENDED_AT]),
            _job_id(row[run_rows.PARTITION]),
            read_text(row[run_rows.SORT]),
        ),
        key_of=_key_of_run,
    )


def _job_id(key: Value) -> str:
    return job_id_of(read_text(key))


def _key_of_job(owner_id: str, names: Sequence[object]) -> Row | None:
    match names:
        case [str() as job_id] if JOB_ID.fullmatch(job_id):
            return job_rows.key_of(job_key(owner_id, job_id))
    return None


def _key_of_run(owner_id: str, names: Sequence[object]) -> Row | None:
    match names:
        case [str() as job_id, str() as run_id] if JOB_ID.fullmatch(job_id) and RUN_ID.fullmatch(run_id):
            return run_rows.key_of(RunKey(job_key(owner_id, job_id), run_id))
    return None


class OwnerListing(Generic[T]):
    def __init__(self, queries: Queries, batches: Batches, shape: Shape[T]) -> None:
        self._queries = queries
        self._batches = batches
        self._shape = shape

    def page(self, owner_id: str, *, admits: Callable[[T], bool], limit: int, cursor: str | None) -> Page[T]:
        name = self._shape.list_name
        positions = [None] * OWNER_SLICES if cursor is None else self._positions(owner_id, cursor)
        slices = self._slices(owner_id, positions, read_size=max(SMALLEST_READ, 2 * limit // OWNER_SLICES))
        heads = [(-at, number) for number, of in enumerate(slices) if (at := of.head_at()) is not None]
        heapify(heads)
        admitted: list[T] = []
        unreadable: list[str] = []
        scanned = length = 0
        while heads and len(admitted) < limit and scanned < SCANNED_FOR_A_PAGE and length < BYTES_OF_A_PAGE:
            _, number = heappop(heads)
            row = slices[number].take()
            scanned += 1
            try:
                if admits(item := self._shape.read(row)):
                    admitted.append(item)
                    length += length_of(row)
            except StoredUnreadable:
                _, *names = self._shape.position_of(row)
                unreadable.append("/".join(names))
            at = slices[number].head_at()
            if at is not None:
                heappush(heads, (-at, number))
        rest = encode_cursor(name, owner_id, [of.position for of in slices]) if heads else None
        return Page(tuple(admitted), rest, tuple(unreadable))

    def _slices(self, owner_id: str, positions: Sequence[Position], *, read_size: int) -> list[_Slice[T]]:
        queries = (
            Query(
                table=self._shape.table,
                index=self._shape.index,
                condition=self._shape.condition,
                values={":slice": text(name)},
                is_consistent=False,
                is_ascending=False,
                page_size=read_size,
            )
            for name in owner_slices(owner_id)
        )
        return [
            _Slice(self._queries, self._batches, self._shape, owner_id=owner_id, query=query, position=position)
            for query, position in zip(queries, positions, strict=True)
        ]

    def _positions(self, owner_id: str, cursor: str) -> list[Position]:
        stored = decode_cursor(cursor, self._shape.list_name, owner_id)
        if not isinstance(stored, list) or len(stored) != OWNER_SLICES:
            raise foreign_cursor()
        return [self._position(owner_id, position) for position in stored]

    def _position(self, owner_id: str, stored: object) -> Position:
        match stored:
            case None:
                return None
            case int() if stored == _ENDED:
                return _ENDED
            case [int() as at, *names] if 0 <= at <= LAST_INSTANT and self._shape.key_of(owner_id, names):
                return (int(at), *map(str, names))
        raise foreign_cursor()


class _Slice(Generic[T]):
    """One partition of the index, read ahead by a page."""

    def __init__(
        self,
        queries: Queries,
        batches: Batches,
        shape: Shape[T],
        *,
        owner_id: str,
        query: Query,
        position: Position,
    ) -> None:
        self._queries = queries
        self._batches = batches
        self._shape = shape
        self._query = query
        self._read: deque[Row] = deque()
        self._position = position
        self._has_more = position != _ENDED
        self._start = self._start_key(owner_id, position) if isinstance(position, tuple) else None

    @property
    def position(self) -> Position:
        return self._position if self._read or self._has_more else _ENDED

    def head_at(self) -> int | None:
        """The instant of the next item, or None when the slice ended."""
        while not self._read and self._has_more:
            page = self._queries.page(self._operation, self._query, self._start)
            self._read.extend(self._whole(page.rows))
            self._start = page.next_start
            self._has_more = page.next_start is not None
            size = min(_LARGEST_READ, _GROWTH * (self._query.page_size or SMALLEST_READ))
            self._query = replace(self._query, page_size=size)
        return self._shape.position_of(self._read[0])[0] if self._read else None

    @property
    def _operation(self) -> str:
        return f"list.{self._shape.list_name}"

    def _whole(self, rows: Sequence[Row]) -> Sequence[Row]:
        """In the order of the index; a row that is gone by now, or stands elsewhere in it, is left out."""
        if not self._shape.keys_only:
            return rows
        names, sort = self._shape.keys_only, self._shape.sort
        keys = [{name: row[name] for name in names} for row in rows]
        found = self._batches.get(self._operation, self._shape.table, keys, is_consistent=False)
        by_place = {repr([row.get(name) for name in (*names, sort)]): row for row in found}
        places = (repr([row[name] for name in (*names, sort)]) for row in rows)
        return [by_place[place] for place in places if place in by_place]

    def take(self) -> Row:
        row = self._read.popleft()
        self._position = self._shape.position_of(row)
        return row

    def _start_key(self, owner_id: str, position: tuple[int, *tuple[str, ...]]) -> Row:
        at, *names = position
        key = self._shape.key_of(owner_id, names)
        assert key is not None
        return {**key, self._shape.partition: self._query.values[":slice"], self._shape.sort: whole(at)}
