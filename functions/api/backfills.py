"""Route that runs a range of past slots. The runs go to the catch-up lane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from http import HTTPStatus

from aws_lambda_powertools.event_handler import Request

from functions.api import audit
from functions.api.backend import Backend
from functions.api.backfilling import Candidate, Verdict, judge, slots_of_range
from functions.api.documents import backfill_document
from functions.api.editor import JobEditor
from functions.api.gate import Call, call_of
from functions.api.requests import Backfill
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.run_planner import RunPlanner
from functions.api.tracing import current_trace
from shared.domain.access import Chosen, Receipt, Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.keys import RunKey
from shared.domain.limits import MAX_BACKFILL_AGE_MS
from shared.domain.redrive import run_again
from shared.domain.run import RunKind
from shared.domain.schedules.fields import read_instant
from shared.ports import Written
from shared.schema import late_lane


@dataclass(frozen=True, slots=True)
class BackfillRoutes:
    backend: Backend
    editor: JobEditor

    def routes(self) -> list[Route]:
        path = "/v1/jobs/<job_id>/backfills"
        return [Route("POST", path, self.backfill, Scope.WRITE, body=JSON_BODY, model=Backfill)]

    def backfill(self, job_id: str, body: Backfill, request: Request) -> Answer:
        call = call_of(request)
        planner = RunPlanner(self.backend, self.editor)
        earlier = self.editor.receipt(call)
        job = planner.job_to_run(call, job_id)
        # A repeat is about what the first request saw: `to` may have been left out, which is now.
        now = self.backend.clock.now() if earlier is None else earlier.at
        candidates, next_from = self._candidates(job, body, now)
        if not body.dry_run:
            earlier = earlier or self._put_receipt(call, job, candidates, now)
            if earlier is not None:
                candidates = self._of_first(job, candidates, earlier)
            candidates = [self._plan(planner, job, each) for each in candidates]
            audit.note("job.backfill", call, job_id=job_id, planned=_count_of_planned(candidates))
        document = backfill_document(candidates, next_from, is_dry=body.dry_run)
        return answer(document, status=HTTPStatus.OK if body.dry_run else HTTPStatus.ACCEPTED)

    def _candidates(self, job: Job, body: Backfill, now: Instant) -> tuple[list[Candidate], Instant | None]:
        since, until = _range_of(body, now)
        found, next_from = slots_of_range(job, since=since, until=until, limit=body.limit)
        rows = self.backend.runs.between(job.job_key, since=since, until=next_from or until) if found else []
        return [judge(job, slot, rows) for slot in found], next_from

    def _put_receipt(self, call: Call, job: Job, candidates: list[Candidate], now: Instant) -> Receipt | None:
        """Before anything is planned, so that a repeat plans what this request would have, and nothing else. The
        receipt that is in the way, if any. Raises KeyReused.
        """
        if call.keyed is None:
            return None
        planned = [each for each in candidates if each.verdict is Verdict.PLANNED]
        receipt = call.keyed.receipt_of_choice([_chosen(job, each) for each in planned], None, now)
        stored = self.backend.access.put_receipt(receipt)
        return None if stored is None else call.keyed.check(stored)

    def _of_first(self, job: Job, candidates: list[Candidate], receipt: Receipt) -> list[Candidate]:
        """As the first request under this key chose: what it has planned is nobody's to plan again."""
        chosen = {each.key: each for each in receipt.chosen}
        return [_as_chosen(each, chosen.get(RunKey(job.job_key, each.run_id))) for each in candidates]

    def _plan(self, planner: RunPlanner, job: Job, candidate: Candidate) -> Candidate:
        if candidate.verdict is not Verdict.PLANNED or candidate.is_planned:
            return candidate
        seen, now = candidate.seen, self.backend.clock.now()
        if seen is None:
            run = planner.waiting(job, candidate.slot, kind=RunKind.BACKFILL, run_id=candidate.run_id, now=now)
        else:
            claim_id = self.backend.new_claim_id()
            run = run_again(seen, generation=job.generation, at=now, claim_id=claim_id, trace=current_trace())
            run = replace(run, kind=RunKind.BACKFILL)
        is_new = isinstance(self.backend.plan(run, lane=late_lane(job.lane), seen=seen), Written)
        return candidate if is_new else replace(candidate, verdict=Verdict.HAS_RUN)


def _chosen(job: Job, candidate: Candidate) -> Chosen:
    token = None if candidate.seen is None else candidate.seen.token
    return Chosen(RunKey(job.job_key, candidate.run_id), token)


def _as_chosen(candidate: Candidate, chosen: Chosen | None) -> Candidate:
    if chosen is None:
        # Nothing had skipped it then.
        is_new = candidate.verdict is Verdict.PLANNED
        return replace(candidate, verdict=Verdict.NOT_SETTLED) if is_new else candidate
    token = None if candidate.seen is None else candidate.seen.token
    is_left = candidate.verdict is Verdict.PLANNED and token == chosen.token
    return replace(candidate, verdict=Verdict.PLANNED, is_planned=not is_left)


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
