"""Deciding over a job by what is stored beside it: its entry and watermark, and runs of an earlier job of its id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from functions.api.backend import Backend
from functions.api.changes import build_job
from functions.api.entries import entry_of_job
from functions.api.generations import agreed, is_resumed, skipped_by_pause, with_owed
from functions.api.requests import CreateJob
from shared.domain.entry import first_unsettled
from shared.domain.errors import FieldProblem, InvalidRequest, StoredUnreadable
from shared.domain.events import run_is_over
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.job import Job, JobState, recreated
from shared.domain.keys import RunKey, run_id_of
from shared.domain.run import may_be_fired_anew
from shared.domain.schedules import At
from shared.domain.sharding import shard_of

#: Of an earlier job of the id: its newest runs, asked-for ones among them.
_RUNS_LOOKED_AT: Final = 20


def decided(backend: Backend, job: Job, decide: Callable[[Job, Instant], Job]) -> tuple[Job, Instant]:
    """What becomes of the job, and when. A new generation goes by what the schedulers have settled, and by a clock that
    agrees with the store's.

    Raises InvalidRequest for an `at` whose run is there: one slot is one run, also of an earlier job of the id.
    """
    now = backend.clock.now()
    after = decide(job, now)
    if after.generation == job.generation or after.state is JobState.CANCELLED:
        return after, now
    answer = backend.fleet.lease(shard_of(job.job_key, backend.shard_count))
    if (as_stored := agreed(now, answer.store_time)) != now:
        now, after = as_stored, decide(job, as_stored)
    if after.schedule != job.schedule:
        _check_untaken(backend, after, "at")
    if job.state is JobState.ACTIVE:
        after = with_owed(job, after, _first_owed(backend, job, answer.lease.watermark))
    elif is_resumed(job, after):
        _record_skipped(backend, job, after)
    return after, now


def _first_owed(backend: Backend, job: Job, watermark: Instant) -> Instant | None:
    """The first slot that no scheduler has settled. `watermark` was read before the entry, so that it does not say more
    than it may. None too where the schedule cannot be read here: no node of this version has fired any of it.
    """
    try:
        entry = entry_of_job(backend, job)
        return None if entry is None else first_unsettled(entry, watermark)
    except StoredUnreadable:
        return None


def _record_skipped(backend: Backend, job: Job, after: Job) -> None:
    """Before the resume is written, for that is not repeated. They are over, whatever becomes of it."""
    paused_at = job.from_at if job.paused_at is None else job.paused_at
    rows = backend.runs.between(job.job_key, since=job.from_at, until=paused_at)
    row = skipped_by_pause(job, after, rows, retention_ms=backend.settings.run_retention_ms)
    if row is not None and backend.runs.record([row]) == [True]:
        backend.announcements.add([run_is_over(row)])


def built_over(backend: Backend, over: Job, request: CreateJob, *, by: str, now: Instant) -> Job:
    """The job that is created over an ended one of its id. One slot is one run: what the earlier job ran, by whatever
    clock, stays its own, and the new one begins behind it.

    Raises as `build_job`, and InvalidRequest for the instant of a run that is there.
    """
    runs = backend.runs.list_of_job(over.job_key, limit=_RUNS_LOOKED_AT).items
    own = [run.slot for run in runs if run.gap is None and run.run_id == run_id_of(run.slot)]
    now = max(now, Instant(max(own, default=Instant(0)) + 1))
    built = build_job(request, owner_id=over.owner_id, job_id=over.job_id, by=by, now=now)
    job = recreated(built, over)
    _check_untaken(backend, job, next((name for name in ("at", "in") if request.schedule.get(name) is not None), "at"))
    return job


def _check_untaken(backend: Backend, job: Job, member: str) -> None:
    if not isinstance(job.schedule, At):
        return
    slot = job.schedule.instant
    run = backend.runs.get(RunKey(job.job_key, run_id_of(slot)))
    if run is not None and not may_be_fired_anew(run, job.generation):
        detail = (
            f"the id {job.job_id} has a run of {to_rfc3339(slot)} already, which is {run.status}; take another "
            "instant, or another job_id"
        )
        raise InvalidRequest(FieldProblem(f"#/schedule/{member}", detail, to_rfc3339(Instant(job.updated_at + 1000))))
