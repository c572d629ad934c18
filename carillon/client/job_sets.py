"""Methods about many jobs at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

from carillon.client.connection import Connection, path_to
from carillon.client.job_documents import BatchItem, BulkItem, NewJob
from carillon.client.repeating import is_worth_repeating
from carillon.client.schedules import encoded

_JOBS_OF_A_REQUEST: Final = 100
#: The API takes 4 MB, with what is around the jobs.
_BYTES_OF_A_REQUEST: Final = 4_000_000


class JobSetCalls:
    _connection: Connection

    def create_jobs(self, jobs: Iterable[NewJob]) -> Iterator[BatchItem]:
        """What became of each, in order: some may be created while others are refused. A hundred go in one request,
        fewer when they are large. It is sent when the items of the one before are used up: nothing is created that
        nobody asks for.
        """
        some: list[NewJob] = []
        size = 0
        for job in jobs:
            own = len(encoded(job)) + 1
            if some and size + own > _BYTES_OF_A_REQUEST:
                yield from self._create(some)
                some, size = [], 0
            some.append(job)
            size += own
            if len(some) == _JOBS_OF_A_REQUEST:
                yield from self._create(some)
                some, size = [], 0
        if some:
            yield from self._create(some)

    def pause_jobs(self, *, group: str | None = None, tags: Mapping[str, str] | None = None) -> list[BulkItem]:
        """Of the group, with all of the tags, or both. A job that was created a moment ago may be missed."""
        return self._change("pause", group, tags)

    def resume_jobs(self, *, group: str | None = None, tags: Mapping[str, str] | None = None) -> list[BulkItem]:
        return self._change("resume", group, tags)

    def cancel_jobs(self, *, group: str | None = None, tags: Mapping[str, str] | None = None) -> list[BulkItem]:
        return self._change("cancel", group, tags)

    def _create(self, jobs: list[NewJob]) -> list[BatchItem]:
        # Under one key, a repeat creates what is missing and nothing twice.
        key = str(uuid4())
        connection = self._connection
        made = 0
        while True:
            made += 1
            answer = connection.call("POST", path_to("jobs", "batch"), {"items": jobs}, idempotency_key=key)
            items: list[BatchItem] = answer["items"]
            is_settled = not any(is_worth_repeating(item["status"]) for item in items)
            if is_settled or made >= connection.patience.attempts:
                return items
            connection.time.sleep(connection.time.roll() * connection.patience.bound_after(made))

    def _change(self, word: str, group: str | None, tags: Mapping[str, str] | None) -> list[BulkItem]:
        body: dict[str, Any] = {"tags": dict(tags or {})} | ({} if group is None else {"group": group})
        items: list[BulkItem] = []
        while True:
            answer = self._connection.call("POST", f"{path_to('jobs')}:{word}", body)
            items += answer["items"]
            if answer["next_cursor"] is None:
                return items
            body["cursor"] = answer["next_cursor"]
