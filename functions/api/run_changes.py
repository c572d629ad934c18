"""Routes that change runs: cancel, and retry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import run_document
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of
from functions.api.refusals import ChangeContended, RunNotFound, RunNotRetryable
from functions.api.responses import Answer, answer
from functions.api.routing import Route
from functions.api.run_planner import RunPlanner
from functions.api.tracing import current_trace
from shared.domain.access import Scope
from shared.domain.events import run_is_over
from shared.domain.instants import Instant
from shared.domain.keys import RunKey, job_id_of, job_key
from shared.domain.limits import JOB_ID, RUN_ID
from shared.domain.redrive import may_run_again, run_again
from shared.domain.run import Run
from shared.ports import ReceiptUsed, Written

_TRIES = 3


@dataclass(frozen=True, slots=True)
class RunChangeRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        of_run = "/v1/jobs/<job_id>/runs/<run_id>"
        return [
            Route("POST", f"{of_run}/cancel", self.cancel, Scope.WRITE),
            Route("POST", f"{of_run}/retry", self.retry, Scope.WRITE),
        ]

    def cancel(self, job_id: str, run_id: str, request: Request) -> Answer:
        """The run as it is then: CANCELLED when it waited, still running when a worker has it, or ended before."""
        call = call_of(request)
        key = self._key(call, job_id, run_id)
        run = self._run(key, job_id) if self.editor.receipt(call) is not None else self._cancelled(call, key)
        status = HTTPStatus.ACCEPTED if run.status.is_alive else HTTPStatus.OK
        return answer(run_document(job_id, run), status=status)

    def _cancelled(self, call: Call, key: RunKey) -> Run:
        """Raises RunNotFound."""
        now, job_id = self.backend.clock.now(), job_id_of(key.job_key)
        before = self.backend.runs.get(key)
        receipt = None if call.keyed is None else call.keyed.receipt_of_choice((), None, now)
        expires_at = Instant(now + self.backend.settings.run_retention_ms)
        run = self.backend.runs.request_cancel(key, at=now, expires_at=expires_at, receipt=receipt)
        if run is None:
            raise RunNotFound(job_id, key.run_id)
        if run != before:
            audit.note("run.cancel", call, job_id=job_id, run_id=key.run_id)
            if not run.status.is_alive:
                # One that runs is told of by its worker.
                self.backend.announcements.add([run_is_over(run)])
        return run

    def retry(self, job_id: str, run_id: str, request: Request) -> Answer:
        call = call_of(request)
        run, is_repeat = self._retried(call, job_id, run_id)
        if not is_repeat:
            audit.note("run.retry", call, job_id=job_id, run_id=run_id, token=run.token)
        headers = {"Location": f"/v1/jobs/{job_id}/runs/{run_id}"}
        return answer(run_document(job_id, run), status=HTTPStatus.ACCEPTED, headers=headers)

    def _retried(self, call: Call, job_id: str, run_id: str) -> tuple[Run, bool]:
        """Raises RunNotFound, RunNotRetryable, ChangeContended, and as `job_to_run`."""
        key = self._key(call, job_id, run_id)
        if self.editor.receipt(call) is not None:
            return self._run(key, job_id), True
        job = RunPlanner(self.backend, self.editor).job_to_run(call, job_id)
        for _ in range(_TRIES):
            seen = self._run(key, job_id)
            if not may_run_again(seen):
                raise RunNotRetryable(job_id, run_id, seen.status)
            now = self.backend.clock.now()
            claim_id = self.backend.new_claim_id()
            run = run_again(seen, generation=job.generation, at=now, claim_id=claim_id, trace=current_trace())
            receipt = None
            if call.keyed is not None:
                receipt = replace(call.keyed.receipt_for(job, now), run_id=run_id)
            outcome = self.backend.plan(run, lane=job.lane, seen=seen, receipt=receipt)
            if isinstance(outcome, Written):
                return run, False
            if isinstance(outcome, ReceiptUsed) and call.keyed is not None:
                call.keyed.check(outcome.receipt)
                return self._run(key, job_id), True
        raise ChangeContended(job_id)

    def _key(self, call: Call, job_id: str, run_id: str) -> RunKey:
        if not JOB_ID.fullmatch(job_id) or not RUN_ID.fullmatch(run_id):
            raise RunNotFound(job_id, run_id)
        return RunKey(job_key(call.caller.owner_id, job_id), run_id)

    def _run(self, key: RunKey, job_id: str) -> Run:
        run = self.backend.runs.get(key)
        if run is None:
            raise RunNotFound(job_id, key.run_id)
        return run
