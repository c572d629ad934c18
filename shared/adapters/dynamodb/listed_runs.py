"""The runs of a job that may be alive though their slot is long past, for whoever cancels the job.

Each has a marker, a row in a partition of its own: `alive#<job_key>`. It is put before the run's row says that the run
waits or goes on for long, and deleted after the row says that it has ended. So at any moment markers are a superset of
such runs, whoever dies between two writes; who reads them reads the runs as well. One that was left behind expires.

An index of the table could not serve: a local one limits all runs of a job to 10 GB, which a job each second reaches
within a month, and a global one is read late.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb import conditions, run_rows
from shared.adapters.dynamodb.attributes import Row, read_text, text
from shared.adapters.dynamodb.batches import Batches
from shared.adapters.dynamodb.columns import seconds_until
from shared.adapters.dynamodb.queries import Queries, Query
from shared.domain.instants import DAY, Instant
from shared.domain.keys import RunKey

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: No job's key begins so: an owner's name has no `#`.
PREFIX = "alive#"
#: After the lease of the run, or the start that it waits for: longer than any run goes on after either.
_KEPT_MS = 60 * DAY


class ListedRuns:
    def __init__(self, client: DynamoDBClient, calls: Calls, table: str) -> None:
        self._batches = Batches(client, calls)
        self._queries = Queries(client, calls)
        self._table = table

    def put(self, runs: Iterable[tuple[RunKey, Instant]]) -> None:
        """Each with the end of its lease, or of its wait. Raises StoreError."""
        rows = [_key_of(key) | {run_rows.TTL: seconds_until(until + _KEPT_MS)} for key, until in dict(runs).items()]
        if rows:
            self._batches.put("runs.list", self._table, rows)

    def remove(self, keys: Iterable[RunKey]) -> None:
        """Raises StoreError, and may be called again then."""
        rows = [_key_of(key) for key in keys]
        if rows:
            self._batches.delete("runs.unlist", self._table, rows)

    def keys_of(self, job_key: str) -> list[RunKey]:
        """Strongly consistent."""
        query = Query(
            table=self._table,
            condition=conditions.RUNS_OF_JOB,
            values={":job_key": text(PREFIX + job_key)},
        )
        pages = self._queries.pages("runs.listed", query)
        return [RunKey(job_key, read_text(row[run_rows.SORT])) for page in pages for row in page]


def _key_of(key: RunKey) -> Row:
    return run_rows.key_of(RunKey(PREFIX + key.job_key, key.run_id))
