"""Writing jobs: read, decide (`changes`), write in one transaction, and read again where another was faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.api.backend import Backend
from functions.api.changes import build_job, check_payload, replaced
from functions.api.deciding import built_over, decided
from functions.api.documents import etag_of
from functions.api.gate import Call
from functions.api.granting import check_granted
from functions.api.idempotency import earlier
from functions.api.lanes import check_lane
from functions.api.refusals import ChangeContended, JobExists, JobNotFound, PreconditionFailed
from functions.api.requests import CreateJob
from functions.api.rescheduling import keeps_schedule
from functions.api.room import Room
from functions.api.tracing import current_trace
from functions.api.ulid import RANDOM_BYTES, ulid
from shared.domain.access import Receipt
from shared.domain.entry import announce, entry_keys
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.events import job_changed
from shared.domain.instants import Instant
from shared.domain.job import (
    Cancellation,
    CancelOutcome,
    Job,
    JobState,
    cancellation_of,
    cancelled,
    erased,
    is_last_slot,
)
from shared.domain.keys import job_key
from shared.domain.limits import JOB_ID
from shared.domain.timing import ALIVE_READ_BACK_MS
from shared.ports import JobFilter, JobWrite, ReceiptUsed, RevisionConflict

#: How often a change is decided anew because another was faster, before the caller is asked to.
WRITE_ATTEMPTS = 5
ANY_JOB = JobFilter()


@dataclass(frozen=True, slots=True)
class Creation:
    """`at` is when it was created first: a repeat under the same Idempotency-Key answers as of then."""

    job: Job
    at: Instant
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """`is_new` is False when nothing had to be written."""

    job: Job
    is_new: bool


@dataclass(frozen=True, slots=True)
class Put:
    """`is_new` is False when nothing had to be written."""

    job: Job
    is_created: bool
    is_new: bool


@dataclass(frozen=True, slots=True)
class JobEditor:
    backend: Backend
    room: Room

    def job(self, call: Call, job_id: str) -> Job:
        """Raises JobNotFound, for other owners' jobs and for those past their end too."""
        job = self._stored(call, job_id) if JOB_ID.fullmatch(job_id) else None
        if job is None or job.has_expired(self.backend.clock.now()):
            raise JobNotFound(job_id)
        return job

    def create(self, call: Call, request: CreateJob) -> Creation:
        """Raises JobExists, KeyReused, ChangeContended, or what `build_job` does."""
        receipt = self.receipt(call)
        if receipt is not None:
            return _creation_again(call, request, receipt)
        now = self.backend.clock.now()
        job_id = request.job_id or ulid(now, self.dice(call, RANDOM_BYTES))
        self._built(call, job_id, request, None, now)
        self.check_room(call)
        over = self._stored(call, job_id) if request.job_id else None
        for _ in range(WRITE_ATTEMPTS):
            if over is not None and over.state is not JobState.CANCELLED and not over.has_expired(now):
                raise JobExists(job_id, over.state)
            job = self._built(call, job_id, request, over, now)
            outcome = self.backend.jobs.write(self._write(call, job, over, now))
            if isinstance(outcome, ReceiptUsed):
                return _creation_again(call, request, outcome.receipt)
            if not isinstance(outcome, RevisionConflict):
                self._announce(job, over)
                return Creation(job, now)
            over = outcome.current
        raise ChangeContended(job_id)

    def put(self, call: Call, job_id: str, request: CreateJob) -> Put:
        """Create the job, or make it what the request says. Raises PreconditionFailed, ChangeContended, JobEnded."""
        for _ in range(WRITE_ATTEMPTS):
            over = self._stored(call, job_id)
            now = self.backend.clock.now()
            has_gone = over is None or over.state is JobState.CANCELLED or over.has_expired(now)
            _check_may_put(call, job_id, None if has_gone else over)
            # A completed job that is to fire again is another one under the same id.
            is_over = (
                over is not None and over.state is JobState.COMPLETED and not keeps_schedule(over, request.schedule)
            )
            if over is None or has_gone or is_over:
                after, is_created = self._built(call, job_id, request, over, now), True
                self.check_room(call)
            else:

                def replace_it(job: Job, now: Instant) -> Job:
                    return replaced(job, request, by=call.caller.name, now=now)

                (after, now), is_created = decided(self.backend, over, replace_it), False
            if after == over:
                return Put(after, is_created=False, is_new=False)
            if not isinstance(self.backend.jobs.write(self._write(call, after, over, now)), RevisionConflict):
                self._announce(after, None if is_created else over)
                return Put(after, is_created=is_created, is_new=True)
        raise ChangeContended(job_id)

    def _built(self, call: Call, job_id: str, request: CreateJob, over: Job | None, now: Instant) -> Job:
        owner_id, by = call.caller.owner_id, call.caller.name
        if over is not None:
            return built_over(self.backend, over, request, by=by, now=now)
        return build_job(request, owner_id=owner_id, job_id=job_id, by=by, now=now)

    def dice(self, call: Call, count: int) -> bytes:
        """Bytes for an id, the same for a repeat under the same Idempotency-Key."""
        return self.backend.randomness.random_bytes(count) if call.keyed is None else call.keyed.random_bytes(count)

    def check_room(self, call: Call) -> None:
        """Raises TooManyJobs."""
        self.room.check(call.caller.owner_id)

    def change(self, call: Call, job_id: str, decide: Callable[[Job, Instant], Job]) -> Change:
        """Write what `decide` makes of the job. Raises JobNotFound, PreconditionFailed, KeyReused, ChangeContended."""
        if self.receipt(call) is not None:
            return Change(self.job(call, job_id), is_new=False)
        for _ in range(WRITE_ATTEMPTS):
            job = self.job(call, job_id)
            _check_precondition(call, job)
            after, now = decided(self.backend, job, decide)
            if after == job:
                self._leave_receipt(call, job, now)
                return Change(job, is_new=False)
            outcome = self.backend.jobs.write(self._write(call, after, job, now))
            if isinstance(outcome, ReceiptUsed):
                if call.keyed is not None:
                    call.keyed.check(outcome.receipt)
                return Change(self.job(call, job_id), is_new=False)
            if not isinstance(outcome, RevisionConflict):
                self._announce(after, job)
                return Change(after, is_new=True)
        raise ChangeContended(job_id)

    def cancel(
        self, call: Call, job_id: str, *, only: JobFilter = ANY_JOB, is_erased: bool = False
    ) -> tuple[Change, Cancellation]:
        """Cancel, and only then read what is alive: whatever is not seen then cannot start any more.

        `is_erased` leaves nothing of what its owner wrote into the job. Raises as `change`, and JobNotFound for a job
        that `only` does not admit.
        """
        was_completed = False

        def decide(job: Job, now: Instant) -> Job:
            nonlocal was_completed
            if not only.admits(job):
                raise JobNotFound(job_id)
            was_completed = job.state is JobState.COMPLETED
            by = call.caller.name
            after = job if job.state is JobState.CANCELLED else cancelled(job, now=now, by=by)
            return erased(after, now=now, by=by) if is_erased else after

        change = self.change(call, job_id, decide)
        job = change.job
        if job.state is not JobState.CANCELLED:
            # Cancelled by this very request when it was sent before, and made anew since.
            return change, Cancellation(CancelOutcome.ALREADY_ENDED)
        # A stored answer is repeated. There is none when the process that wrote died before it could answer.
        answered = job.cancellation or self.backend.jobs.record_cancellation(
            job.job_key, job.generation, self._cancellation(job, was_completed=was_completed)
        )
        return change, answered

    def _cancellation(self, job: Job, *, was_completed: bool) -> Cancellation:
        # Of a completed job too: its last slot has run, but an earlier one may be late and still running.
        alive = self.backend.runs.alive(job.job_key, since=Instant(job.updated_at - ALIVE_READ_BACK_MS))
        if alive:
            return cancellation_of(alive)
        if was_completed:
            return Cancellation(CancelOutcome.ALREADY_ENDED)
        newest = self.backend.runs.list_of_job(job.job_key, limit=1).items
        # The last run is over, but whoever ended it has not yet turned the job completed.
        has_ended = bool(newest) and newest[0].status.is_final and is_last_slot(job.schedule, newest[0].slot)
        return Cancellation(CancelOutcome.ALREADY_ENDED if has_ended else CancelOutcome.CANCELLED_BEFORE_FIRE)

    def _announce(self, job: Job, previous: Job | None) -> None:
        if previous is not None and previous.state is job.state is JobState.CANCELLED:
            # Erased: that it is cancelled was told.
            return
        self.backend.announcements.add([job_changed(job, previous)])

    def _stored(self, call: Call, job_id: str) -> Job | None:
        return self.backend.jobs.get(job_key(call.caller.owner_id, job_id))

    def receipt(self, call: Call) -> Receipt | None:
        """Of this very request. Raises KeyReused."""
        return earlier(call.keyed, self.backend.access)

    def _leave_receipt(self, call: Call, job: Job, now: Instant) -> None:
        """Of a request that found nothing to do: its repeat must not find something. Raises KeyReused."""
        if call.keyed is None:
            return
        stored = self.backend.access.put_receipt(call.keyed.receipt_for(job, now))
        if stored is not None:
            call.keyed.check(stored)

    def _write(self, call: Call, job: Job, previous: Job | None, now: Instant) -> JobWrite:
        check_granted(self.backend, job, previous)
        if previous is None or job.lane != previous.lane:
            # One that was taken from the deployment since keeps its jobs from nothing but firing.
            check_lane(job.lane, self.backend.settings.lanes)
        if previous is None or job.payload != previous.payload:
            # The deployment may take less than the document may have.
            check_payload(job.payload, job.target, at_most=self.backend.settings.payload_bytes)
        shard_count = self.backend.shard_count
        receipt = None if call.keyed is None else call.keyed.receipt_for(job, now)
        if previous is not None and job.generation == previous.generation:
            return JobWrite(job, previous, put_entry=None, receipt=receipt)
        job = replace(job, trace=current_trace())
        job, entry = announce(job, shard_count=shard_count, at=None if previous is None else now)
        old_entries = () if previous is None else entry_keys(previous, shard_count=shard_count)
        return JobWrite(job, previous, entry, old_entries, receipt)


def _creation_again(call: Call, request: CreateJob, receipt: Receipt) -> Creation:
    """The first answer, made again from the same body as of the same instant."""
    assert call.keyed is not None
    call.keyed.check(receipt)
    job = build_job(request, owner_id=receipt.owner_id, job_id=receipt.job_id, by=call.caller.name, now=receipt.at)
    return Creation(replace(job, generation=receipt.generation, revision=receipt.revision), receipt.at, is_repeat=True)


def _check_precondition(call: Call, job: Job) -> None:
    if call.if_match is None:
        return
    named = {tag.strip() for tag in call.if_match.split(",")}
    if "*" not in named and etag_of(job) not in named:
        raise PreconditionFailed(job.job_id, job.revision)


def _check_may_put(call: Call, job_id: str, job: Job | None) -> None:
    """If-None-Match: * creates only; If-Match changes only what it names. Raises PreconditionFailed, InvalidRequest."""
    if call.if_none_match is not None:
        if call.if_none_match.strip() != "*":
            detail = "only If-None-Match: * is understood here: create the job if there is none"
            raise InvalidRequest(FieldProblem("#/If-None-Match", detail, "*"))
        if job is not None:
            raise PreconditionFailed(job_id, job.revision)
    if call.if_match is not None:
        if job is None:
            raise PreconditionFailed(job_id, None)
        _check_precondition(call, job)
