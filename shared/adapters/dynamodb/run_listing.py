"""The runs of one job, newest first, a page at a time.

A page begins below the run_id that its cursor names, and not at a key of the table: so a cursor goes on under another
filter too, whose range need not have that key in it.
"""

from __future__ import annotations

from shared.adapters.cursors import decode_cursor, encode_cursor, foreign_cursor
from shared.adapters.dynamodb import conditions, run_rows
from shared.adapters.dynamodb.attributes import Row, length_of, read_text, text
from shared.adapters.dynamodb.queries import BYTES_OF_A_PAGE, Queries, Query
from shared.domain.errors import StoredUnreadable
from shared.domain.keys import run_id_of
from shared.domain.pages import Page
from shared.domain.run import Run
from shared.ports.run_store import ANY_RUN, RunFilter

#: Rows looked at for one page: a filter that admits little answers short pages rather than slow ones.
SCANNED_FOR_A_PAGE = 1_000
_READ_UNDER_A_FILTER = 200
_LIST = "runs"
_LONGEST_RUN_ID = 200


class RunListing:
    def __init__(self, queries: Queries, table: str) -> None:
        self._queries = queries
        self._table = table

    def page(self, job_key: str, *, only: RunFilter, limit: int, cursor: str | None) -> Page[Run]:
        below = None if cursor is None else _run_id_in(cursor, job_key)
        query = self._query(job_key, only, below, page_size=limit if only == ANY_RUN else _READ_UNDER_A_FILTER)
        if query is None:
            return Page(())
        admitted: list[Run] = []
        unreadable: list[str] = []
        scanned, length, start = 0, 0, None
        while True:
            page = self._queries.page("runs.list_of_job", query, start)
            for number, row in enumerate(page.rows, start=1):
                run_id = read_text(row[run_rows.SORT])
                try:
                    if run_id != below and only.admits(run := run_rows.read_run(row)):
                        admitted.append(run)
                        length += length_of(row)
                except StoredUnreadable:
                    unreadable.append(run_id)
                has_more = number < len(page.rows) or page.next_start is not None
                if has_more and (len(admitted) == limit or length >= BYTES_OF_A_PAGE):
                    return Page(tuple(admitted), encode_cursor(_LIST, job_key, run_id), tuple(unreadable))
            scanned += len(page.rows)
            start = page.next_start
            if start is None:
                return Page(tuple(admitted), unreadable=tuple(unreadable))
            if scanned >= SCANNED_FOR_A_PAGE and page.rows:
                return Page(tuple(admitted), encode_cursor(_LIST, job_key, run_id), tuple(unreadable))

    def _query(self, job_key: str, only: RunFilter, below: str | None, *, page_size: int) -> Query | None:
        """None when nothing can be there."""
        values: Row = {":job_key": text(job_key)}
        least = None if only.since is None else run_id_of(only.since)
        bounds = [bound for bound in (below, None if only.until is None else run_id_of(only.until)) if bound]
        most = min(bounds, default=None)
        if least is not None and most is not None:
            if least >= most:
                return None
            # Both ends are included; the upper one is left out by whoever reads.
            condition, values[":first"], values[":last"] = conditions.RUNS_BETWEEN, text(least), text(most)
        elif least is not None:
            condition, values[":run_id"] = conditions.RUNS_SINCE, text(least)
        elif most is not None:
            condition, values[":run_id"] = conditions.RUNS_BEFORE, text(most)
        else:
            condition = conditions.RUNS_OF_JOB
        return Query(table=self._table, condition=condition, values=values, is_ascending=False, page_size=page_size)


def _run_id_in(cursor: str, job_key: str) -> str:
    run_id = decode_cursor(cursor, _LIST, job_key)
    if not isinstance(run_id, str) or not run_id.isascii() or not 0 < len(run_id) <= _LONGEST_RUN_ID:
        raise foreign_cursor()
    return run_id
