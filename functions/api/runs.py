"""Routes of runs. They outlive their job, so the job need not be there any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query

from functions.api.backend import Backend
from functions.api.documents import run_document
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of
from functions.api.paging import answer_page
from functions.api.refusals import JobNotFound, RunNotFound
from functions.api.requests import Cursor, Limit
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from shared.domain.access import Scope
from shared.domain.keys import RunKey, job_key
from shared.domain.limits import DEFAULT_PAGE, JOB_ID, MAX_PAGE, RUN_ID
from shared.domain.pages import Page
from shared.domain.run import Run, RunKind, RunStatus
from shared.domain.schedules.fields import read_instant
from shared.ports import RunFilter

_Status = Literal["waiting", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"]
_Kind = Literal["scheduled", "manual", "backfill", "catch_up"]


@dataclass(frozen=True, slots=True)
class RunRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        filters = ("status", "kind", "since", "until", "cursor", "limit")
        return [
            Route("GET", "/v1/jobs/<job_id>/runs", self.list, Scope.READ, query=filters),
            Route("GET", "/v1/jobs/<job_id>/runs/<run_id>", self.get, Scope.READ),
        ]

    def list(
        self,
        *,
        job_id: str,
        request: Request,
        status: Annotated[list[_Status] | None, Query()] = None,
        kind: Annotated[_Kind | None, Query()] = None,
        since: Annotated[str | None, Query()] = None,
        until: Annotated[str | None, Query()] = None,
        cursor: Cursor = None,
        limit: Limit = DEFAULT_PAGE,
    ) -> Answer:
        """`since` and `until` are about the slot."""
        call = call_of(request)
        if not JOB_ID.fullmatch(job_id):
            raise JobNotFound(job_id)
        only = RunFilter(
            statuses=frozenset(map(RunStatus, status or ())),
            kind=None if kind is None else RunKind(kind),
            since=None if since is None else read_instant(since, "#/since"),
            until=None if until is None else read_instant(until, "#/until"),
        )
        key = job_key(call.caller.owner_id, job_id)
        first = self.backend.runs.list_of_job(key, only=only, limit=limit, cursor=cursor)
        if cursor is None and all(map(_is_stray, first.items)):
            self._check_there(call, job_id)

        def read(most: int) -> Page[Run]:
            if most == limit:
                return first
            return self.backend.runs.list_of_job(key, only=only, limit=most, cursor=cursor)

        return answer_page(read, lambda run: run_document(job_id, run), limit)

    def _check_there(self, call: Call, job_id: str) -> None:
        """Raises JobNotFound for a job that never was. Of one that is gone, some run still says that it was there."""
        try:
            self.editor.job(call, job_id)
        except JobNotFound:
            page = self.backend.runs.list_of_job(job_key(call.caller.owner_id, job_id), limit=MAX_PAGE)
            if all(map(_is_stray, page.items)):
                raise

    def get(self, job_id: str, run_id: str, request: Request) -> Answer:
        call = call_of(request)
        run = None
        if JOB_ID.fullmatch(job_id) and RUN_ID.fullmatch(run_id):
            run = self.backend.runs.get(RunKey(job_key(call.caller.owner_id, job_id), run_id))
        if run is None:
            raise RunNotFound(job_id, run_id)
        return answer(run_document(job_id, run))


def _is_stray(run: Run) -> bool:
    """All that a message leaves whose job there is not, or never was."""
    return run.status is RunStatus.CANCELLED and run.started_at is None and not run.attempts
