"""The places of a job's runs, and of an owner's, as a worker takes and leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from functions.worker.endings import finish_to_wait, finish_without_start
from functions.worker.job_reader import read_jobs
from functions.worker.live_run import LiveRun
from functions.worker.settings import WorkerSettings
from shared.domain.errors import Fenced, StoreError
from shared.domain.instants import DAY, Instant
from shared.domain.job import Job
from shared.domain.keys import RunKey, owner_of
from shared.domain.overlap import Holder, Place, Yielding, is_silent, next_look, places_of, yielding
from shared.domain.owner_places import holder_id, rows_for
from shared.domain.run import Finish
from shared.observability.logs import logger_for
from shared.ports import Clock, Hold, JobStore, RunStore
from shared.schema import LANE_RETENTION_DAYS

_logger = logger_for("worker")

#: The reasons of a wait that costs no attempt and goes on until there is a place.
WAITS_FOR_PLACE = frozenset(("overlap", "owner_maximum", "receiver_busy"))
#: A run that was silent for so long is brought back by nobody, for the queue has forgotten its message. Its place is
#: free then; before, it is the run's own until it has ended.
RUN_PLACE_KEPT_MS = (LANE_RETENTION_DAYS + 1) * DAY


@dataclass(frozen=True, slots=True)
class Places:
    job_store: JobStore
    run_store: RunStore
    clock: Clock
    settings: WorkerSettings

    def take(self, live: LiveRun) -> Finish | None:
        """None: the run may start, in a place of its own where its job or its owner counts them; else how it yields.

        Raises StoreError, and Fenced when a newer claim of the run has the place.
        """
        finish = self._take_of_job(live)
        return self._take_of_owner(live) if finish is None else finish

    def _take_of_owner(self, live: LiveRun) -> Finish | None:
        maximum = self.settings.owner_maximums.of(owner_of(live.run.job_key))
        if maximum is None or live.owner_hold is not None:
            return None
        now = self.clock.now()
        holder = Holder(holder_id(live.run.key), live.run.token, Instant(now + self.settings.lease_ms))
        for key, limit in rows_for(live.run.key, live.run.token, maximum=maximum):
            hold = Hold(key, holder, Place.OWNER)
            if not self._try(hold, limit):
                live.take_owner_place(hold)
                return None
        look_at = next_look(since=waits_since(live), now=now, are_many=True)
        return finish_to_wait(live.run, "owner_maximum", until=look_at, now=now)

    def _take_of_job(self, live: LiveRun) -> Finish | None:
        job = live.job
        limit = None if job is None else places_of(job)
        if job is None or limit is None or live.hold is not None:
            return None
        hold = self._hold_of(live, Place.RUN, until=Instant(self.clock.now() + self.settings.lease_ms))
        by = self._taken(job, hold, limit)
        if not by:
            live.take_place(hold)
            return None
        what = yielding(job, live.run.run_id, by, has_begun=live.run.has_begun)
        if what is Yielding.CANCEL and not self._cancel(job.job_key, by) and not self._taken(job, hold, limit):
            live.take_place(hold)
            return None
        now = self.clock.now()
        look_at = next_look(since=waits_since(live), now=now, are_many=job.overlap == "allow")
        if what is Yielding.BUFFER and not self._is_buffered(job, self._hold_of(live, Place.BUFFER, until=look_at), by):
            what = Yielding.SKIP
        if what is Yielding.SKIP:
            return finish_without_start(live.run, "overlap", now=now, retention_ms=self.settings.run_retention_ms)
        return finish_to_wait(live.run, "overlap", until=look_at, now=now)

    def extend(self, lives: Sequence[LiveRun], *, until: Instant) -> list[LiveRun]:
        """Keep the places of those that have one; answers those that have lost their job's: of an owner's runs one too
        many does no harm, and at a job that is gone nobody is in anybody's way. Raises StoreError.
        """
        held = [(live, hold) for live in lives for hold in live.holds]
        if not held:
            return []
        answers = self.job_store.extend([_until(hold, until) for _, hold in held])
        lost = [
            live
            for (live, hold), is_held in zip(held, answers, strict=True)
            if not is_held and hold.place is not Place.OWNER
        ]
        if not lost:
            return []
        jobs = read_jobs(self.job_store, {live.run.job_key for live in lost})
        return [live for live in lost if jobs.exists(live.run.job_key)]

    def leave(self, live: LiveRun) -> None:
        """Of a run that does not start after all. One that has begun is not over: its place stays its own."""
        if not live.holds or live.run.has_begun:
            return
        try:
            self.job_store.release(live.holds)
        except StoreError as error:
            # It lapses with its lease.
            _logger.warning(
                "a place was not left", extra={"action": "run.place", "run": live.run.key, "error": str(error)}
            )

    def _hold_of(self, live: LiveRun, place: Place, *, until: Instant) -> Hold:
        return Hold(live.run.job_key, Holder(live.run.run_id, live.run.token, until), place)

    def _taken(self, job: Job, hold: Hold, limit: int) -> tuple[Holder, ...]:
        """Who holds the places that are left to nobody; empty: we do."""
        by = self._try(hold, limit)
        ended = self._ended(hold, self._perhaps_ended(job, by))
        if not ended:
            return by
        self.job_store.release([replace(hold, holder=holder) for holder in ended])
        return self._try(hold, limit)

    def _perhaps_ended(self, job: Job, by: Sequence[Holder]) -> Sequence[Holder]:
        """Those whose runs are looked up: where runs only wait for a place, the silent ones alone."""
        if job.overlap != "allow":
            return by
        now, clock_bound_ms = self.clock.now(), self.settings.clock_bound_ms
        return [each for each in by if is_silent(each, now=now, clock_bound_ms=clock_bound_ms)]

    def _try(self, hold: Hold, limit: int) -> tuple[Holder, ...]:
        bound_ms = self.settings.clock_bound_ms + (RUN_PLACE_KEPT_MS if hold.place is Place.RUN else 0)
        by = self.job_store.hold(hold, limit=limit, now=self.clock.now(), clock_bound_ms=bound_ms)
        if any(each.run_id == hold.holder.run_id for each in by):
            raise Fenced(f"the place of {hold.job_key} {hold.holder.run_id}", token=hold.holder.token)
        return by

    def _ended(self, hold: Hold, by: Sequence[Holder]) -> list[Holder]:
        """Holders whose run is over: their worker died before it left the place, or they were cancelled waiting."""
        if not by:
            return []
        runs = self.run_store.get_many([RunKey(hold.job_key, each.run_id) for each in by])
        alive = {key.run_id for key, run in runs.items() if run.status.is_alive}
        return [each for each in by if each.run_id not in alive]

    def _is_buffered(self, job: Job, hold: Hold, running: Sequence[Holder]) -> bool:
        """Whether this run is the one that waits. One that runs by now does not wait any more, and never says so."""
        by = self._taken(job, hold, 1)
        now_running = {each.run_id for each in running}
        started = [each for each in by if each.run_id in now_running]
        if started:
            self.job_store.release([replace(hold, holder=holder) for holder in started])
            by = self._taken(job, hold, 1)
        return not by

    def _cancel(self, job_key: str, by: Sequence[Holder]) -> bool:
        """Ask the holders to end; whether any of them goes on until it has heard."""
        now = self.clock.now()
        expires_at = Instant(now + self.settings.run_retention_ms)
        answers = [
            self.run_store.request_cancel(RunKey(job_key, each.run_id), at=now, expires_at=expires_at) for each in by
        ]
        return any(run is not None and run.status.is_alive for run in answers)


def waits_since(live: LiveRun) -> Instant:
    return live.dispatch.enqueued_at if live.run.enqueued_at is None else live.run.enqueued_at


def _until(hold: Hold, until: Instant) -> Hold:
    return replace(hold, holder=replace(hold.holder, lease_until=until))


def kept_between_attempts(hold: Hold, finish: Finish) -> Hold:
    """The place of a run that waits, to be kept until its next attempt."""
    assert finish.lease_until is not None
    return _until(hold, finish.lease_until)
