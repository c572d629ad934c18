"""Routes of failed runs: the list of an owner's, and running many of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Request
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from functions.api import audit
from functions.api.backend import Backend
from functions.api.documents import redrive_document, run_document
from functions.api.failed_runs import Wanted, failed_runs
from functions.api.gate import Call, call_of
from functions.api.paging import answer_page
from functions.api.readable import readable
from functions.api.requests import EXAMPLES, Cursor, Limit, RedriveRuns
from functions.api.responses import Answer, answer
from functions.api.routing import JSON_BODY, Route
from functions.api.tags import tags_of
from functions.api.tracing import current_trace
from shared.domain.access import Chosen, Receipt, Scope
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState
from shared.domain.keys import RunKey, job_id_of
from shared.domain.limits import DEFAULT_PAGE, JOB_ID, MAX_GROUP_LENGTH
from shared.domain.pages import Page
from shared.domain.redrive import PLANNED, REDRIVEN, Redrive, Redriven, length_ms, run_again, spread
from shared.domain.run import Run
from shared.domain.schedules.fields import read_instant
from shared.ports import FailureFilter, JobFilter, Written
from shared.schema import late_lane

_LONGEST_WORD = 128


@dataclass(frozen=True, slots=True)
class FailureRoutes:
    backend: Backend

    def routes(self) -> list[Route]:
        filters = ("status", "job_id", "error_type", "group", "tag", "since", "until", "cursor", "limit")
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
        group: Annotated[str | None, Query(), Field(max_length=MAX_GROUP_LENGTH)] = None,
        tag: Annotated[list[str] | None, Query()] = None,
        since: Annotated[str | None, Query()] = None,
        until: Annotated[str | None, Query()] = None,
        cursor: Cursor = None,
        limit: Limit = DEFAULT_PAGE,
    ) -> Answer:
        """Those that timed out in their last attempt are failed too."""
        del status, tag  # Declared for the OpenAPI document; Powertools cuts values at commas.
        call = call_of(request)
        failures = FailureFilter(job_id, error_type, _instant(since, "#/since"), _instant(until, "#/until"))
        wanted = Wanted(failures, JobFilter(None, group, tag_texts=tags_of(call)))

        def read(most: int) -> Page[Run]:
            return failed_runs(self.backend, call.caller.owner_id, wanted, limit=most, cursor=cursor)

        return answer_page(read, lambda run: run_document(job_id_of(run.job_key), run), limit)

    def redrive(self, body: RedriveRuns, request: Request) -> Answer:
        """The rate is kept over all redrives of the owner: each begins where the one before ends."""
        call = call_of(request)
        choice = self._choice(call, body)
        redriven = dict(choice.known)
        for redrive in self._spread(call, body, choice.runs):
            run = redrive.run
            outcome = PLANNED if body.dry_run else self._plan(redrive, choice.jobs[run.job_key])
            is_refused = outcome not in {PLANNED, REDRIVEN}
            redriven[run.key] = Redriven(run.key, outcome, None if is_refused else redrive.starts_at)
        if not body.dry_run:
            audit.note("run.redrive", call, redriven=sum(each.outcome == REDRIVEN for each in redriven.values()))
        items = [redriven[key] for key in choice.keys]
        document = redrive_document(items, choice.next_cursor, is_dry=body.dry_run)
        return answer(document, status=HTTPStatus.OK if body.dry_run else HTTPStatus.ACCEPTED)

    def _choice(self, call: Call, body: RedriveRuns) -> _Choice:
        """The runs that this request is about, though it be sent again when others have failed."""
        page, keyed = self._selected(call, body), call.keyed
        choice = self._choice_of(page.items, page.cursor)
        if body.dry_run or keyed is None:
            return choice
        # Before anything is planned, so that whoever dies on the way has said what is to be.
        chosen = [Chosen(run.key, run.token, _obstacle(choice.jobs.get(run.job_key))) for run in page.items]
        mine = keyed.receipt_of_choice(chosen, page.cursor, self.backend.clock.now())
        receipt = self.backend.access.put_receipt(mine)
        if receipt is None:
            return choice
        keyed.check(receipt)
        return self._chosen_before(receipt)

    def _chosen_before(self, receipt: Receipt) -> _Choice:
        rows = readable(self.backend.runs.get_many, [each.key for each in receipt.chosen])
        known, left = {}, []
        for each in receipt.chosen:
            run = rows.get(each.key)
            if each.obstacle is not None:
                # It may run by now, but this request has been answered.
                known[each.key] = Redriven(each.key, each.obstacle)
            elif run is None:
                known[each.key] = Redriven(each.key, "changed")
            elif run.token == each.token:
                left.append(run)
            else:
                # Planned by this request when it was sent before.
                known[each.key] = Redriven(each.key, REDRIVEN, run.fire_at)
        choice = self._choice_of(left, receipt.next_cursor)
        return replace(choice, keys=[each.key for each in receipt.chosen], known=known | choice.known)

    def _choice_of(self, runs: Sequence[Run], next_cursor: str | None) -> _Choice:
        jobs = readable(self.backend.jobs.get_many, {run.job_key for run in runs}) if runs else {}
        obstacles = {run.key: obstacle for run in runs if (obstacle := _obstacle(jobs.get(run.job_key)))}
        return _Choice(
            [run.key for run in runs],
            [run for run in runs if run.key not in obstacles],
            jobs,
            {key: Redriven(key, obstacle) for key, obstacle in obstacles.items()},
            next_cursor,
        )

    def _spread(self, call: Call, body: RedriveRuns, runs: Sequence[Run]) -> Iterator[Redrive]:
        start = self.backend.clock.now()
        if runs and not body.dry_run:
            length = length_ms(len(runs), body.rate)
            start = self.backend.access.book_starts(call.caller.owner_id, at=start, length_ms=length)
        return spread(runs, start=start, per_second=body.rate)

    def _selected(self, call: Call, body: RedriveRuns) -> Page[Run]:
        since, until = _instant(body.since, "#/since"), _instant(body.until, "#/until")
        failures = FailureFilter(body.job_id, body.error_type, since, until)
        wanted = Wanted(failures, JobFilter(None, body.group, body.tags))
        _check_choice(wanted, is_all=body.is_all)
        return failed_runs(self.backend, call.caller.owner_id, wanted, limit=body.limit, cursor=body.cursor)

    def _plan(self, redrive: Redrive, job: Job) -> str:
        run = run_again(
            redrive.run,
            generation=job.generation,
            at=redrive.starts_at,
            claim_id=self.backend.new_claim_id(),
            trace=current_trace(),
        )
        # The list lags a little: what has changed since is somebody else's.
        outcome = self.backend.plan(run, lane=late_lane(job.lane), seen=redrive.run)
        return REDRIVEN if isinstance(outcome, Written) else "changed"


@dataclass(frozen=True, slots=True)
class _Choice:
    #: In the order of the list of failed runs.
    keys: Sequence[RunKey]
    #: Those to be run again, as they are now, and their jobs.
    runs: Sequence[Run]
    jobs: Mapping[str, Job]
    #: What became of the others.
    known: dict[RunKey, Redriven]
    next_cursor: str | None


def _check_choice(wanted: Wanted, *, is_all: bool) -> None:
    """Nobody runs everything again because a filter was forgotten. Raises InvalidRequest."""
    if wanted.is_everything and not is_all:
        detail = 'name job_id, error_type, group, tags, since or until; or "all": true for all that failed'
        raise InvalidRequest(FieldProblem("#", detail, {"error_type": EXAMPLES["#/error_type"]}))
    if is_all and not wanted.is_everything:
        detail = "stands for all that failed; leave it out beside what chooses some of them"
        raise InvalidRequest(FieldProblem("#/all", detail, False))


def _obstacle(job: Job | None) -> str | None:
    """Why no run of the job may start."""
    if job is None or job.state is JobState.CANCELLED:
        return "job_ended"
    return "job_paused" if job.state is JobState.PAUSED else None


def _instant(text: str | None, pointer: str) -> Instant | None:
    return None if text is None else read_instant(text, pointer)
