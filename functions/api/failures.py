"""Routes of failed runs: the list of an owner's, and running many of them again."""

from __future__ import annotations

from collections.abc import Sequence
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
from functions.api.tracing import current_trace
from shared.domain.access import Scope
from shared.domain.entry import single_entry
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey, job_id_of
from shared.domain.limits import DEFAULT_PAGE, JOB_ID
from shared.domain.pages import Page
from shared.domain.redrive import Redrive, length_ms, run_again, spread
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
        """A repeat finds them no longer failed, so it needs no Idempotency-Key. The rate is kept over all redrives of
        the owner: each begins where the one before ends.
        """
        call = call_of(request)
        page = self._selected(call, body)
        jobs = self.backend.jobs.get_many({run.job_key for run in page.items}) if page.items else {}
        obstacles = {run.key: obstacle for run in page.items if (obstacle := _obstacle(jobs.get(run.job_key)))}
        redrives = self._spread(call, body, [run for run in page.items if run.key not in obstacles])
        outcomes = obstacles | {
            key: "planned" if body.dry_run else self._plan(redrive, jobs[key.job_key])
            for key, redrive in redrives.items()
        }
        if not body.dry_run:
            audit.note("run.redrive", call, planned=sum(outcome == "planned" for outcome in outcomes.values()))
        items = [(redrives.get(run.key, run), outcomes[run.key]) for run in page.items]
        document = redrive_document(items, page.cursor, is_dry=body.dry_run)
        return answer(document, status=HTTPStatus.OK if body.dry_run else HTTPStatus.ACCEPTED)

    def _spread(self, call: Call, body: RedriveRuns, runs: Sequence[Run]) -> dict[RunKey, Redrive]:
        start = self.backend.clock.now()
        if runs and not body.dry_run:
            length = length_ms(len(runs), body.rate)
            start = self.backend.access.book_starts(call.caller.owner_id, at=start, length_ms=length)
        return {each.run.key: each for each in spread(runs, start=start, per_second=body.rate)}

    def _selected(self, call: Call, body: RedriveRuns) -> Page[Run]:
        only = FailureFilter(
            body.job_id, body.error_type, _instant(body.since, "#/since"), _instant(body.until, "#/until")
        )
        return self.backend.runs.list_failures(call.caller.owner_id, only=only, limit=body.limit, cursor=body.cursor)

    def _plan(self, redrive: Redrive, job: Job) -> str:
        claim_id = self.backend.randomness.random_bytes(CLAIM_ID_BYTES).hex()
        run = run_again(redrive.run, at=redrive.starts_at, claim_id=claim_id, trace=current_trace())
        entry = single_entry(run, shard=shard_of(job.job_key, self.backend.shard_count), lane=late_lane(job.lane))
        # The list lags a little: what has changed since is somebody else's.
        is_planned = isinstance(self.backend.runs.plan(run, entry, seen=redrive.run), Written)
        return "planned" if is_planned else "changed"


def _obstacle(job: Job | None) -> str | None:
    """Why no run of the job may start."""
    if job is None or job.state is JobState.CANCELLED:
        return "job_ended"
    return "job_paused" if job.state is JobState.PAUSED else None


def _instant(text: str | None, pointer: str) -> Instant | None:
    return None if text is None else read_instant(text, pointer)
