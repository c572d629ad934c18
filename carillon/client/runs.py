"""Methods about runs and slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from carillon.client.connection import Connection, path_to
from carillon.client.errors import NotEnded, RunNotFound
from carillon.client.run_documents import Backfill, Explanation, Kind, PreviewedSlot, Redrive, Run, Status
from carillon.client.schedules import Moment, Schedule, moment_text

#: Looks at a run that is awaited: soon after it was asked for, and then less and less often.
FIRST_LOOK_SECONDS: Final = 0.25
LAST_LOOK_SECONDS: Final = 5.0
_GROWTH: Final = 1.5


class _Absent:
    """Told from None, which is a payload."""


ABSENT: Final = _Absent()


class RunCalls:
    _connection: Connection

    def run_now(self, job_id: str, *, payload: object = ABSENT, idempotency_key: str | None = None) -> Run:
        """A run besides the schedule's; `payload` replaces the job's. Of a paused job too. Raises JobEnded."""
        body = {} if payload is ABSENT else {"payload": payload}
        path = path_to("jobs", job_id, "runs")
        run: Run = self._connection.call("POST", path, body, idempotency_key=idempotency_key)
        return run

    def backfill(
        self,
        job_id: str,
        *,
        since: Moment,
        until: Moment | None = None,
        dry_run: bool = False,
        limit: int | None = None,
        idempotency_key: str | None = None,
    ) -> Backfill:
        """Run the past slots of the schedule with since <= slot < until (now), at most 100 of them: never one that
        has run or may still be fired. Go on with `next_from` as `since`.
        """
        body = _given({"from": since, "to": until, "dry_run": dry_run, "limit": limit})
        path = path_to("jobs", job_id, "backfills")
        backfill: Backfill = self._connection.call("POST", path, body, idempotency_key=idempotency_key)
        return backfill

    def runs(
        self,
        job_id: str,
        *,
        statuses: Sequence[Status] = (),
        kind: Kind | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        page_size: int | None = None,
    ) -> Iterator[Run]:
        """Newest first: those that have one of the statuses, and since <= slot < until. They outlive their job. Raises
        JobNotFound.
        """
        query = {
            "status": [str(status) for status in statuses],
            "kind": kind,
            "since": moment_text(since),
            "until": moment_text(until),
            "limit": page_size,
        }
        return self._connection.items(path_to("jobs", job_id, "runs"), query)

    def get_run(self, job_id: str, run_id: str) -> Run:
        """Raises RunNotFound."""
        run: Run = self._connection.call("GET", path_to("jobs", job_id, "runs", run_id))
        return run

    def cancel_run(self, job_id: str, run_id: str) -> Run:
        """One that waits is cancelled at once; one that a worker has ends within some seconds; one that ended stays."""
        run: Run = self._connection.call("POST", path_to("jobs", job_id, "runs", run_id, "cancel"))
        return run

    def retry_run(self, job_id: str, run_id: str, *, idempotency_key: str | None = None) -> Run:
        """The same run again, under a higher fencing token. Raises RunNotRetryable."""
        path = path_to("jobs", job_id, "runs", run_id, "retry")
        run: Run = self._connection.call("POST", path, idempotency_key=idempotency_key)
        return run

    def failed_runs(
        self,
        *,
        job_id: str | None = None,
        error_type: str | None = None,
        group: str | None = None,
        tags: Mapping[str, str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        page_size: int | None = None,
    ) -> Iterator[Run]:
        """The owner's, newest first, with since <= ended_at < until; `group` and `tags` are of their jobs."""
        query = {
            "status": "failed",
            "job_id": job_id,
            "error_type": error_type,
            "group": group,
            "tag": [f"{name}:{value}" for name, value in (tags or {}).items()],
            "since": moment_text(since),
            "until": moment_text(until),
            "limit": page_size,
        }
        return self._connection.items(path_to("runs"), query)

    def redrive(
        self,
        *,
        job_id: str | None = None,
        error_type: str | None = None,
        group: str | None = None,
        tags: Mapping[str, str] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        everything: bool = False,
        rate: float | None = None,
        dry_run: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
        idempotency_key: str | None = None,
    ) -> Redrive:
        """Run failed runs again, chosen as in `failed_runs`, or `everything`: at most 100 of them, `rate` a second,
        behind those of the owner's earlier redrives. Go on with `next_cursor` as `cursor`. Repeated with an
        `idempotency_key` of yours it is about the same runs. Raises InvalidRequest when nothing chooses.
        """
        chosen = {"job_id": job_id, "error_type": error_type, "group": group, "since": since, "until": until}
        some = {"tags": dict(tags) if tags else None, "all": everything or None}
        body = _given({**chosen, **some, "rate": rate, "dry_run": dry_run, "limit": limit, "cursor": cursor})
        redrive: Redrive = self._connection.call("POST", path_to("redrives"), body, idempotency_key=idempotency_key)
        return redrive

    def preview(
        self,
        schedule: Schedule,
        *,
        count: int | None = None,
        after: Moment | None = None,
        until: Moment | None = None,
    ) -> list[PreviewedSlot]:
        """The first slots behind `after` (now) and before `until`, with what exclusions and daylight saving do."""
        body = _given({"schedule": schedule, "count": count, "after": after, "until": until})
        answer = self._connection.call("POST", path_to("schedules", "preview"), body)
        slots: list[PreviewedSlot] = answer["items"]
        return slots

    def explain(self, job_id: str, *, slot: Moment | None = None, run_id: str | None = None) -> Explanation:
        """Why a slot ran, runs, or does not; without one, of the newest run, or of a slot that is due since."""
        query = {"slot": moment_text(slot), "run_id": run_id}
        explanation: Explanation = self._connection.call("GET", path_to("jobs", job_id, "explain"), query=query)
        return explanation

    def wait_for_run(self, job_id: str, run_id: str | None = None, *, timeout: float = 60.0) -> Run:
        """The run, once it has ended, however it ended; without a run_id, the job's newest. `timeout` is in seconds.

        A run of a slot that has not come is there once a worker has it: until then it is waited for too. Raises
        NotEnded, and JobNotFound where no run is named.
        """
        time = self._connection.time
        started, look = time.monotonic(), FIRST_LOOK_SECONDS
        while True:
            run = self._newest(job_id) if run_id is None else self._run_if_any(job_id, run_id)
            if run is not None and run["ended_at"] is not None:
                return run
            left = started + timeout - time.monotonic()
            if left <= 0:
                raise NotEnded(job_id, run_id, None if run is None else run["status"], waited_seconds=timeout)
            time.sleep(min(look, left))
            look = min(LAST_LOOK_SECONDS, look * _GROWTH)

    def _newest(self, job_id: str) -> Run | None:
        return next(islice(self.runs(job_id, page_size=1), 1), None)

    def _run_if_any(self, job_id: str, run_id: str) -> Run | None:
        try:
            return self.get_run(job_id, run_id)
        except RunNotFound:
            return None


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
