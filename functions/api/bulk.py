"""Routes that pause, resume or cancel the jobs of a group or with a tag: a page of them at each call.

The list comes from an index, so a job created a moment ago may be missed; each job is read again before it is changed.
Under an Idempotency-Key a repeat is about the same jobs, and changes none that was changed before: each has a receipt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.bodies import Document
from functions.api.changes import with_state
from functions.api.documents import cancellation_document
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of
from functions.api.items import failed_item
from functions.api.refusals import JobNotFound
from functions.api.requests import EXAMPLES, SelectJobs
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from shared.domain.access import Chosen, Scope
from shared.domain.errors import CarillonError, FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey, job_id_of
from shared.ports import JobFilter

#: Changes one job; answers whether it did, and what to say of it.
_Change = Callable[[Call, str, JobFilter], tuple[bool, Document]]
_WORDS: Final = ("pause", "resume", "cancel")


@dataclass(frozen=True, slots=True)
class BulkRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        endpoints = (self.pause, self.resume, self.cancel)
        return [
            Route("POST", f"/v1/jobs:{word}", endpoint, Scope.WRITE, body=JSON_BODY, model=SelectJobs)
            for word, endpoint in zip(_WORDS, endpoints, strict=True)
        ]

    def pause(self, body: SelectJobs, request: Request) -> Answer:
        return self._each(body, request, JobState.ACTIVE, self._to_state("job.pause", JobState.PAUSED))

    def resume(self, body: SelectJobs, request: Request) -> Answer:
        return self._each(body, request, JobState.PAUSED, self._to_state("job.resume", JobState.ACTIVE))

    def cancel(self, body: SelectJobs, request: Request) -> Answer:
        def cancel_one(call: Call, job_id: str, only: JobFilter) -> tuple[bool, Document]:
            change, cancellation = self.editor.cancel(call, job_id, only=only)
            if change.is_new:
                audit.record("job.cancel", call, change.job)
            return change.is_new, cancellation_document(cancellation)

        return self._each(body, request, None, cancel_one)

    def _to_state(self, action: str, state: JobState) -> _Change:
        def change_one(call: Call, job_id: str, only: JobFilter) -> tuple[bool, Document]:
            def decide(job: Job, now: Instant) -> Job:
                if not only.admits(job):
                    raise JobNotFound(job_id)
                return with_state(job, state, by=call.caller.name, now=now)

            change = self.editor.change(call, job_id, decide)
            if change.is_new:
                audit.record(action, call, change.job)
            return change.is_new, {"state": str(change.job.state)}

        return change_one

    def _each(self, body: SelectJobs, request: Request, state: JobState | None, change: _Change) -> Answer:
        if not body.group and not body.tags:
            raise InvalidRequest(FieldProblem("#", "name a group, tags, or both", {"group": EXAMPLES["#/group"]}))
        call = replace(call_of(request), if_match=None)
        only = JobFilter(None, body.group, body.tags)
        chosen, next_cursor = self._chosen(call, body, replace(only, state=state))
        items: list[Document] = []
        changed = 0
        for job_id in chosen:
            one = replace(call, keyed=None if call.keyed is None else call.keyed.of_item(job_id))
            try:
                is_new, document = change(one, job_id, only)
            except JobNotFound:
                continue
            except CarillonError as error:
                items.append({"job_id": job_id, **failed_item(error, call.request_id)})
                continue
            changed += is_new
            items.append({"job_id": job_id, "status": 200, **document})
        return answer({"changed": changed, "items": items, "next_cursor": next_cursor})

    def _chosen(self, call: Call, body: SelectJobs, only: JobFilter) -> tuple[list[str], str | None]:
        """The ids of the jobs that this request is about, and where the list of them goes on. Raises KeyReused."""
        receipt = self.editor.receipt(call)
        if receipt is None:
            owner_id = call.caller.owner_id
            page = self.backend.jobs.list_of_owner(owner_id, only=only, limit=body.limit, cursor=body.cursor)
            audit.note_unreadable(page.unreadable)
            jobs = [job for job in page.items if _is_left(job, only)]
            if call.keyed is None:
                return [job.job_id for job in jobs], page.cursor
            choice = [Chosen(RunKey(job.job_key, "")) for job in jobs]
            mine = call.keyed.receipt_of_choice(choice, page.cursor, self.backend.clock.now())
            receipt = call.keyed.check(self.backend.access.put_receipt(mine) or mine)
        return [job_id_of(each.key.job_key) for each in receipt.chosen], receipt.next_cursor


def _is_left(job: Job, only: JobFilter) -> bool:
    # One without an answer: whoever cancelled it died before it could say what is alive.
    return job.state is not JobState.CANCELLED or (only.state is None and job.cancellation is None)
