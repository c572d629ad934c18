"""Route that explains a slot of a job; what it says is decided in `explaining`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query

from functions.api.backend import Backend
from functions.api.documents import explanation_document
from functions.api.editor import JobEditor
from functions.api.entries import entry_of_job, entry_of_waiting
from functions.api.explaining import Evidence, in_question
from functions.api.gate import call_of
from functions.api.refusals import RunNotFound
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from shared.domain.access import Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import LAST_INSTANT, Instant
from shared.domain.job import Job
from shared.domain.keys import RunKey, run_id_of
from shared.domain.limits import RUN_ID
from shared.domain.run import Run, RunStatus
from shared.domain.schedules.fields import read_instant
from shared.domain.sharding import shard_of


@dataclass(frozen=True, slots=True)
class ExplainRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        return [Route("GET", "/v1/jobs/<job_id>/explain", self.explain, Scope.READ, query=("slot", "run_id"))]

    def explain(
        self,
        job_id: str,
        request: Request,
        slot: Annotated[str | None, Query()] = None,
        run_id: Annotated[str | None, Query()] = None,
    ) -> Answer:
        """Of the slot or run that is named; else of the one that somebody would ask about."""
        if slot is not None and run_id is not None:
            raise InvalidRequest(FieldProblem("#/run_id", "name a slot or a run, not both", "20261127T013000000Z"))
        job = self.editor.job(call_of(request), job_id)
        now = self.backend.clock.now()
        asked: Run | Instant | None
        if run_id is not None:
            asked = self._run(job, run_id)
        elif slot is not None:
            asked = read_instant(slot, "#/slot")
        else:
            newest = self.backend.runs.list_of_job(job.job_key, limit=1).items
            asked = in_question(job, newest[0] if newest else None, now)
        if isinstance(asked, Run):
            return answer(explanation_document(self._evidence(job, asked.slot, asked, now)))
        chosen = job.from_at if asked is None else asked
        return answer(explanation_document(self._evidence(job, chosen, self._run_of_slot(job, chosen), now)))

    def _evidence(self, job: Job, slot: Instant, run: Run | None, now: Instant) -> Evidence:
        shard = shard_of(job.job_key, self.backend.shard_count)
        if run is not None and run.status is RunStatus.WAITING:
            entry = entry_of_waiting(self.backend, run, lane=job.lane)
        else:
            entry = entry_of_job(self.backend, job)
        return Evidence(job, slot, run, entry, shard, self.backend.fleet.snapshot(), now)

    def _run(self, job: Job, run_id: str) -> Run:
        run = self.backend.runs.get(RunKey(job.job_key, run_id)) if RUN_ID.fullmatch(run_id) else None
        if run is None:
            raise RunNotFound(job.job_id, run_id)
        return run

    def _run_of_slot(self, job: Job, slot: Instant) -> Run | None:
        """The slot's own run, or one that was asked for at this very instant, or the row of the gap that it is in."""
        rows = self.backend.runs.between(job.job_key, since=slot, until=Instant(min(slot + 1, LAST_INSTANT)))
        own = [run for run in rows if run.run_id == run_id_of(slot)]
        by_hand = [run for run in rows if run.slot == slot and run.gap is None]
        gaps = [run for run in rows if run.gap is not None and run.gap.first <= slot <= run.gap.last]
        return next(iter(own + by_hand + gaps), None)
