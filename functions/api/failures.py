"""Routes of failed runs: the list of an owner's, and running many of them again."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import redrive_document, run_document
from functions.api.gate import Call, call_of
from functions.api.requests import Cursor, Limit, RedriveRuns
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.run_changes import CLAIM_ID_BYTES
from shared.domain.access import Scope
from shared.domain.entry import single_entry
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import job_id_of
from shared.domain.limits import DEFAULT_PAGE, JOB_ID
from shared.domain.pages import Page
from shared.domain.redrive import Redrive, run_again, spread
from shared.domain.run import Run
from shared.domain.schedules.fields import read_instant
from shared.domain.sharding import shard_of
from shared.ports import FailureFilter, Written
from shared.schema import late_lane

_LONGEST_WORD = 128


@dataclass(frozen=True, slots=True)
class FailureRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        filters = ("status", "job_id", "error_type", "since", "until", "cursor", "limit")
        return [
            Route("GET", "/v1/runs", self.list, Scope.READ, query=filters),
            Route("POST", "/v1/redrives", self.redrive, Scope.WRITE, body=JSON_BODY, model=RedriveRuns),
        ]

    def list(
        self,
        *,
        request: Request,
        status: Annotated[Literal["failed"], Query()] = "failed",
        job_id: Annotated[str | None, Query(), Field(pattern=f"^(?:{JOB_ID.pattern})$")] = None,
        error_type: Annotated[str | None, Query(), Field(max_length=_LONGEST_WORD)] = None,
        since: Annotated[str | None, Query()] = None,
        until: Annotated[str | None, Query()] = None,
        cursor: Cursor = None,
        limit: Limit = DEFAULT_PAGE,
    ) -> Answer:
        """Those that timed out in their last attempt are failed too."""
        del status
        call = call_of(request)
        only = FailureFilter(job_id, error_type, _instant(since, "#/since"), _instant(until, "#/until"))
        page = self.backend.runs.list_failures(call.caller.owner_id, only=only, limit=limit, cursor=cursor)
        items = [run_document(job_id_of(run.job_key), run) for run in page.items]
        return answer({"items": items, "next_cursor": page.cursor})

    def redrive(self, body: RedriveRuns, request: Request) -> Answer:
        """A repeat finds them no longer failed, so it needs no Idempotency-Key."""
        call = call_of(request)
        page = self._selected(call, body)
        redrives = list(spread(page.items, now=self.backend.clock.now(), per_second=body.rate))
        jobs = self.backend.jobs.get_many({each.run.job_key for each in redrives}) if redrives else {}
        items = [(each, self._outcome_of(each, jobs.get(each.run.job_key), is_dry=body.dry_run)) for each in redrives]
        planned = sum(outcome == "planned" for _, outcome in items)
        if not body.dry_run:
            audit.note("run.redrive", call, planned=planned)
        document = redrive_document(items, page.cursor, is_dry=body.dry_run)
        return answer(document, status=HTTPStatus.OK if body.dry_run else HTTPStatus.ACCEPTED)

    def _selected(self, call: Call, body: RedriveRuns) -> Page[Run]:
        only = FailureFilter(
            body.job_id, body.error_type, _instant(body.since, "#/since"), _instant(body.until, "#/until")
        )
        return self.backend.runs.list_failures(call.caller.owner_id, only=only, limit=body.limit, cursor=body.cursor)

    def _outcome_of(self, redrive: Redrive, job: Job | None, *, is_dry: bool) -> str:
        if job is None or job.state is JobState.CANCELLED:
            return "job_ended"
        if job.state is JobState.PAUSED:
            return "job_paused"
        if is_dry:
            return "planned"
        claim_id = self.backend.randomness.random_bytes(CLAIM_ID_BYTES).hex()
        run = run_again(redrive.run, at=redrive.starts_at, claim_id=claim_id)
        entry = single_entry(run, shard=shard_of(job.job_key, self.backend.shard_count), lane=late_lane(job.lane))
        # The list lags a little: what has changed since is somebody else's.
        is_planned = isinstance(self.backend.runs.plan(run, entry, seen=redrive.run), Written)
        return "planned" if is_planned else "changed"


def _instant(text: str | None, pointer: str) -> Instant | None:
    return None if text is None else read_instant(text, pointer)
