"""Routes of runs. They outlive their job, so the job need not be there any more."""

from __future__ import annotations

from dataclasses import dataclass

from aws_lambda_powertools.event_handler import Request

from functions.api.backend import Backend
from functions.api.documents import run_document
from functions.api.editor import JobEditor
from functions.api.gate import call_of
from functions.api.refusals import JobNotFound, RunNotFound
from functions.api.requests import Cursor, Limit
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from shared.domain.access import Scope
from shared.domain.keys import RunKey, job_key
from shared.domain.limits import DEFAULT_PAGE, JOB_ID, RUN_ID


@dataclass(frozen=True, slots=True)
class RunRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/v1/jobs/<job_id>/runs", self.list, Scope.READ, query=("cursor", "limit")),
            Route("GET", "/v1/jobs/<job_id>/runs/<run_id>", self.get, Scope.READ),
        ]

    def list(self, job_id: str, request: Request, cursor: Cursor = None, limit: Limit = DEFAULT_PAGE) -> Answer:
        call = call_of(request)
        if not JOB_ID.fullmatch(job_id):
            raise JobNotFound(job_id)
        page = self.backend.runs.list_of_job(job_key(call.caller.owner_id, job_id), limit=limit, cursor=cursor)
        if not page.items and cursor is None:
            self.editor.job(call, job_id)
        return answer({"items": [run_document(job_id, run) for run in page.items], "next_cursor": page.cursor})

    def get(self, job_id: str, run_id: str, request: Request) -> Answer:
        call = call_of(request)
        run = None
        if JOB_ID.fullmatch(job_id) and RUN_ID.fullmatch(run_id):
            run = self.backend.runs.get(RunKey(job_key(call.caller.owner_id, job_id), run_id))
        if run is None:
            raise RunNotFound(job_id, run_id)
        return answer(run_document(job_id, run))
