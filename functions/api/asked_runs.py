"""Routes that ask for runs besides the schedule's: run now, and backfill of a range of past slots."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body

from functions.api import audit
from functions.api.backend import Backend
from functions.api.backfilling import Candidate, Verdict, judge, slots_of_range
from functions.api.changes import check_payload
from functions.api.documents import backfill_document, run_document
from functions.api.editor import JobEditor
from functions.api.gate import call_of
from functions.api.requests import Backfill, RunNow
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.run_planner import RunPlanner, payload_json_of
from functions.api.validating import validated
from shared.domain.access import Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.limits import MAX_BACKFILL_AGE_MS
from shared.domain.run import RunKind
from shared.domain.schedules.fields import read_instant
from shared.ports import Written
from shared.schema import late_lane


@dataclass(frozen=True, slots=True)
class AskedRunRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        run_now, backfill = "/v1/jobs/<job_id>/runs", "/v1/jobs/<job_id>/backfills"
        return [
            Route("POST", run_now, self.run_now, Scope.WRITE, body=JSON_BODY, model=RunNow, is_body_optional=True),
            Route("POST", backfill, self.backfill, Scope.WRITE, body=JSON_BODY, model=Backfill),
        ]

    def run_now(self, job_id: str, body: Annotated[dict[str, Any], Body()], request: Request) -> Answer:
        call = call_of(request)
        validated(RunNow, body)
        check_payload(body.get("payload"))
        planned = RunPlanner(self.backend, self.editor).run_now(call, job_id, payload_json_of(body))
        if not planned.is_repeat:
            audit.note("run.plan", call, job_id=job_id, run_id=planned.run.run_id)
        headers = {"Location": f"/v1/jobs/{job_id}/runs/{planned.run.run_id}"}
        return answer(run_document(job_id, planned.run), status=HTTPStatus.ACCEPTED, headers=headers)

    def backfill(self, job_id: str, body: Backfill, request: Request) -> Answer:
        """A repeat finds what was planned before, so it needs no Idempotency-Key. The runs go to the catch-up lane."""
        call = call_of(request)
        planner = RunPlanner(self.backend, self.editor)
        job = planner.job_to_run(call, job_id)
        now = self.backend.clock.now()
        since, until = _range_of(body, now)
        found, next_from = slots_of_range(job, since=since, until=until, limit=body.limit)
        rows = self.backend.runs.between(job.job_key, since=since, until=next_from or until) if found else []
        candidates = [judge(job, slot, rows, now=now) for slot in found]
        if not body.dry_run:
            candidates = [self._plan(planner, job, each, now) for each in candidates]
            audit.note("job.backfill", call, job_id=job_id, planned=_count_of_planned(candidates))
        document = backfill_document(candidates, next_from, is_dry=body.dry_run)
        return answer(document, status=HTTPStatus.OK if body.dry_run else HTTPStatus.ACCEPTED)

    def _plan(self, planner: RunPlanner, job: Job, candidate: Candidate, now: Instant) -> Candidate:
        if candidate.verdict is not Verdict.PLANNED:
            return candidate
        run = planner.waiting(job, candidate.slot, kind=RunKind.BACKFILL, run_id=candidate.run_id, now=now)
        is_new = isinstance(self.backend.plan(run, lane=late_lane(job.lane)), Written)
        return candidate if is_new else Candidate(candidate.slot, Verdict.HAS_RUN)


def _count_of_planned(candidates: list[Candidate]) -> int:
    return sum(each.verdict is Verdict.PLANNED for each in candidates)


def _range_of(body: Backfill, now: Instant) -> tuple[Instant, Instant]:
    """Raises InvalidRequest."""
    since = read_instant(body.since, "#/from")
    until = now if body.to is None else read_instant(body.to, "#/to")
    if since < now - MAX_BACKFILL_AGE_MS:
        oldest = to_rfc3339(Instant(now - MAX_BACKFILL_AGE_MS))
        raise InvalidRequest(FieldProblem("#/from", f"lies before {oldest}, the oldest that is filled", oldest))
    if until > now:
        detail = f"lies behind now, {to_rfc3339(now)}; what is to come is fired by the schedule"
        raise InvalidRequest(FieldProblem("#/to", detail, to_rfc3339(now)))
    if until <= since:
        raise InvalidRequest(FieldProblem("#/to", "must lie behind `from`", to_rfc3339(now)))
    return since, until
