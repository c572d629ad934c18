"""Routes of jobs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body, Query
from pydantic import Field

from functions.api import audit
from functions.api.backend import Backend
from functions.api.bodies import Document
from functions.api.changes import patched, with_state
from functions.api.documents import (
    brief_run_document,
    cancellation_document,
    etag_of,
    job_document,
    listed_job_document,
)
from functions.api.editor import Change, JobEditor
from functions.api.gate import Call, call_of
from functions.api.paging import answer_page
from functions.api.requests import CreateJob, Cursor, Limit, check_job_id
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, PATCH_BODY, Route
from functions.api.tags import tags_of
from shared.domain.access import Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.limits import DEFAULT_PAGE, MAX_GROUP_LENGTH, MAX_LAST_RUNS, MAX_NAME_LENGTH
from shared.domain.pages import Page
from shared.domain.run import Run
from shared.ports import JobFilter

#: Runs that one DELETE with `purge` erases.
MAX_ERASED_RUNS = 1_000


@dataclass(frozen=True, slots=True)
class JobRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        filters = ("state", "group", "tag", "name_prefix", "last_runs", "cursor", "limit")
        return [
            Route("POST", "/v1/jobs", self.create, Scope.WRITE, body=JSON_BODY, model=CreateJob),
            Route("GET", "/v1/jobs", self.list, Scope.READ, query=filters),
            Route("GET", "/v1/jobs/<job_id>", self.get, Scope.READ),
            Route("PUT", "/v1/jobs/<job_id>", self.put, Scope.WRITE, body=JSON_BODY, model=CreateJob),
            Route("PATCH", "/v1/jobs/<job_id>", self.patch, Scope.WRITE, body=PATCH_BODY),
            Route("DELETE", "/v1/jobs/<job_id>", self.delete, Scope.WRITE, query=("purge",)),
            Route("POST", "/v1/jobs/<job_id>/pause", self.pause, Scope.WRITE),
            Route("POST", "/v1/jobs/<job_id>/resume", self.resume, Scope.WRITE),
        ]

    def create(self, body: CreateJob, request: Request) -> Answer:
        call = call_of(request)
        creation = self.editor.create(call, body)
        if not creation.is_repeat:
            audit.record("job.create", call, creation.job)
        headers = {"Location": f"/v1/jobs/{creation.job.job_id}", "ETag": etag_of(creation.job)}
        document = job_document(creation.job, now=creation.at, last_run=None)
        return answer(document, status=HTTPStatus.CREATED, headers=headers)

    def put(self, job_id: str, body: CreateJob, request: Request) -> Answer:
        call = call_of(request)
        check_job_id(job_id)
        if body.job_id not in {None, job_id}:
            raise InvalidRequest(FieldProblem("#/job_id", "is not the one in the path; leave it out", job_id))
        put = self.editor.put(call, job_id, body)
        if put.is_new:
            audit.record("job.create" if put.is_created else "job.update", call, put.job)
        if not put.is_created:
            return self._shown(put.job)
        headers = {"Location": f"/v1/jobs/{job_id}", "ETag": etag_of(put.job)}
        document = job_document(put.job, now=put.job.created_at, last_run=None)
        return answer(document, status=HTTPStatus.CREATED, headers=headers)

    def list(
        self,
        *,
        request: Request,
        state: Annotated[Literal["active", "paused", "completed", "cancelled"] | None, Query()] = None,
        group: Annotated[str | None, Query(), Field(max_length=MAX_GROUP_LENGTH)] = None,
        tag: Annotated[list[str] | None, Query()] = None,
        name_prefix: Annotated[str | None, Query(), Field(max_length=MAX_NAME_LENGTH)] = None,
        last_runs: Annotated[int, Query(), Field(ge=0, le=MAX_LAST_RUNS)] = 0,
        cursor: Cursor = None,
        limit: Limit = DEFAULT_PAGE,
    ) -> Answer:
        del tag  # Declared for the OpenAPI document; Powertools cuts values at commas.
        call = call_of(request)
        only = JobFilter(JobState(state) if state else None, group, name_prefix=name_prefix, tag_texts=tags_of(call))

        def read(most: int) -> Page[Job]:
            page = self.backend.jobs.list_of_owner(call.caller.owner_id, only=only, limit=most, cursor=cursor)
            now = self.backend.clock.now()
            return replace(page, items=tuple(job for job in page.items if not job.has_expired(now)))

        return answer_page(read, lambda job: self._listed(job, last_runs), limit)

    def get(self, job_id: str, request: Request) -> Answer:
        return self._shown(self.editor.job(call_of(request), job_id))

    def patch(self, job_id: str, body: Annotated[dict[str, Any], Body()], request: Request) -> Answer:
        call = call_of(request)

        def decide(job: Job, now: Instant) -> Job:
            return patched(job, body, by=call.caller.name, now=now)

        return self._changed("job.update", call, self.editor.change(call, job_id, decide))

    def delete(self, job_id: str, request: Request, *, purge: Annotated[bool, Query()] = False) -> Answer:
        """With `purge` the job's runs are erased too, a bounded number at a time: repeat it until it says done."""
        call = call_of(request)
        change, cancellation = self.editor.cancel(call, job_id, is_erased=purge)
        if change.is_new:
            audit.record("job.purge" if purge else "job.cancel", call, change.job)
        document = cancellation_document(cancellation)
        if purge:
            erased = self.backend.runs.erase(change.job.job_key, limit=MAX_ERASED_RUNS)
            document["purge"] = {"erased_runs": erased.count, "is_done": erased.is_done}
        return answer(document)

    def pause(self, job_id: str, request: Request) -> Answer:
        return self._set_state("job.pause", JobState.PAUSED, job_id, call_of(request))

    def resume(self, job_id: str, request: Request) -> Answer:
        return self._set_state("job.resume", JobState.ACTIVE, job_id, call_of(request))

    def _set_state(self, action: str, state: JobState, job_id: str, call: Call) -> Answer:
        def decide(job: Job, now: Instant) -> Job:
            return with_state(job, state, by=call.caller.name, now=now)

        return self._changed(action, call, self.editor.change(call, job_id, decide))

    def _changed(self, action: str, call: Call, change: Change) -> Answer:
        if change.is_new:
            audit.record(action, call, change.job)
        return self._shown(change.job)

    def _shown(self, job: Job) -> Answer:
        document = job_document(job, now=self.backend.clock.now(), last_run=self._last_run(job))
        return answer(document, headers={"ETag": etag_of(job)})

    def _listed(self, job: Job, last_runs: int) -> Document:
        document = listed_job_document(job, now=self.backend.clock.now())
        if last_runs:
            newest = self.backend.runs.list_of_job(job.job_key, limit=last_runs).items
            document["last_runs"] = [brief_run_document(run) for run in newest]
        return document

    def _last_run(self, job: Job) -> Run | None:
        newest = self.backend.runs.list_of_job(job.job_key, limit=1).items
        return newest[0] if newest else None
