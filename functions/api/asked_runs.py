"""Route that asks for a run besides the schedule's: now."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Body

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import run_document
from functions.api.editor import JobEditor
from functions.api.gate import call_of
from functions.api.requests import RunNow
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.run_planner import RunPlanner
from functions.api.validating import validated
from shared.domain.access import Scope


@dataclass(frozen=True, slots=True)
class AskedRunRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        path = "/v1/jobs/<job_id>/runs"
        return [Route("POST", path, self.run_now, Scope.WRITE, body=JSON_BODY, model=RunNow, is_body_optional=True)]

    def run_now(self, job_id: str, body: Annotated[dict[str, Any], Body()], request: Request) -> Answer:
        call = call_of(request)
        validated(RunNow, body)
        planned = RunPlanner(self.backend, self.editor).run_now(call, job_id, body)
        if not planned.is_repeat:
            audit.note("run.plan", call, job_id=job_id, run_id=planned.run.run_id)
        headers = {"Location": f"/v1/jobs/{job_id}/runs/{planned.run.run_id}"}
        return answer(run_document(job_id, planned.run), status=HTTPStatus.ACCEPTED, headers=headers)
