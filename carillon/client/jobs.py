"""Methods about one job, and the list of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from carillon.client.connection import Connection, path_to
from carillon.client.job_documents import Cancellation, Job, JobChanges, JobDefinition, ListedJob, State
from carillon.client.repeating import Repeat


class JobCalls:
    _connection: Connection

    def create_job(
        self, *, job_id: str | None = None, idempotency_key: str | None = None, **definition: Unpack[JobDefinition]
    ) -> Job:
        """A new job. Without a job_id the API makes one.

        Name an `idempotency_key` to make one job over restarts of your own program too; a repeat within 24 hours
        answers as the first one. Raises JobExists, InvalidRequest.
        """
        body = {**definition, **({} if job_id is None else {"job_id": job_id})}
        return self._job("POST", path_to("jobs"), body, idempotency_key=idempotency_key)

    def put_job(
        self,
        job_id: str,
        *,
        if_match: int | None = None,
        create_only: bool = False,
        **definition: Unpack[JobDefinition],
    ) -> Job:
        """Create the job, or make it what the definition says: what it leaves out gets its default, but `state` stays.

        `if_match` is the revision it must be at; `create_only` changes no job that is there. Raises PreconditionFailed
        when that is not so.
        """
        headers = {**_if_match(if_match), **({"If-None-Match": "*"} if create_only else {})}
        # A repeat would find its own first success in the way, or count `in` from a later moment.
        is_same = not headers and "in" not in definition["schedule"]
        repeat = Repeat.ALWAYS if is_same else Repeat.UNSENT
        return self._job("PUT", path_to("jobs", job_id), definition, headers=headers, repeat=repeat)

    def get_job(self, job_id: str) -> Job:
        """Raises JobNotFound."""
        return self._job("GET", path_to("jobs", job_id))

    def update_job(
        self,
        job_id: str,
        *,
        if_match: int | None = None,
        idempotency_key: str | None = None,
        **changes: Unpack[JobChanges],
    ) -> Job:
        """Change what is named; the rest stays. Raises PreconditionFailed when it is not at revision `if_match`."""
        return self._job(
            "PATCH",
            path_to("jobs", job_id),
            changes,
            headers=_if_match(if_match),
            idempotency_key=idempotency_key,
        )

    def delete_job(self, job_id: str, *, purge: bool = False) -> Cancellation:
        """Cancel the job and free its id. With `purge` its runs are erased too; where `is_done` is False afterwards,
        some are alive still: repeat it when they have ended.
        """
        path = path_to("jobs", job_id)
        if not purge:
            cancellation: Cancellation = self._connection.call("DELETE", path)
            return cancellation
        erased = 0
        while True:
            cancellation = self._connection.call("DELETE", path, query={"purge": True})
            found = cancellation["purge"]
            erased += found["erased_runs"]
            if found["is_done"] or found["erased_runs"] == 0:
                return {**cancellation, "purge": {"erased_runs": erased, "is_done": found["is_done"]}}

    def list_jobs(
        self,
        *,
        state: State | None = None,
        group: str | None = None,
        tags: Mapping[str, str] | None = None,
        name_prefix: str | None = None,
        last_runs: int | None = None,
        page_size: int | None = None,
    ) -> Iterator[ListedJob]:
        """Newest first. A job must have all of the tags. Each is shown with `last_runs` of its newest runs: 0 to 20."""
        listed = [f"{name}:{value}" for name, value in (tags or {}).items()]
        query = {"state": state, "group": group, "tag": listed, "name_prefix": name_prefix}
        return self._connection.items(path_to("jobs"), {**query, "last_runs": last_runs, "limit": page_size})

    def pause(self, job_id: str, *, if_match: int | None = None) -> Job:
        """Nothing starts until it is resumed."""
        return self._job("POST", path_to("jobs", job_id, "pause"), headers=_if_match(if_match))

    def resume(self, job_id: str, *, if_match: int | None = None) -> Job:
        """From now on; what was missed stays missed, and `backfill` runs it."""
        return self._job("POST", path_to("jobs", job_id, "resume"), headers=_if_match(if_match))

    def _job(self, method: str, path: str, body: object = None, **options: Any) -> Job:
        job: Job = self._connection.call(method, path, body, **options)
        return job


def _if_match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"{revision}"'}
