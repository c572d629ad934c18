"""Reading the jobs of claimed runs: each is held until it is due, or ends without a start.

What is read must be fresh when it starts. What waits longer, before its time or for a thread, is read again: together
with the others that wait, and while they are held where that is early enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.worker.departures import Departures
from functions.worker.job_reader import read_jobs
from functions.worker.keeping import is_old
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.tally import Tally
from shared.domain.errors import StoreError
from shared.domain.job import Job, may_run
from shared.domain.keys import EntryKey
from shared.domain.retry import may_claim_again
from shared.domain.run import goes_on
from shared.observability.logs import logger_for
from shared.ports import EntryStore, JobStore

_logger = logger_for("worker")

#: What a run starts with was read within this. Who changes a job may rely on it from then on.
FRESH_SECONDS = 1.0
#: A held run is read again this long before its time, if it would not be fresh by then: no read delays its start.
_AHEAD_MS = 1_250


@dataclass(frozen=True, slots=True)
class Reading:
    job_store: JobStore
    entry_store: EntryStore | None
    runs: LiveRuns
    departures: Departures
    tally: Tally

    def read(self, claimed: Sequence[LiveRun]) -> None:
        """Raises StoreError: they are kept to be read again."""
        if not claimed:
            return
        try:
            ready = self._read(claimed)
        except BaseException:
            self.runs.put_unread(claimed)
            raise
        for live in ready:
            self.runs.hold(live, until=live.run.fire_at)

    def read_again_once(self) -> None:
        """Of the held runs that are due soon, those that would not be fresh then. Raises StoreError."""
        clock = self.departures.clock
        stale = self.runs.take_stale_held(
            clock.now(), clock.monotonic(), ahead_ms=_AHEAD_MS, fresh_seconds=FRESH_SECONDS
        )
        self._read(stale)

    def is_fresh(self, live: LiveRun) -> bool:
        return live.was_read_since(self.departures.clock.monotonic() - FRESH_SECONDS)

    def refresh(self, live: LiveRun) -> bool:
        """Read its job again, and of those that wait for a thread like it; whether it may start. Raises StoreError."""
        monotonic = self.departures.clock.monotonic()
        stale = self.runs.take_stale_launched(live, since=monotonic - FRESH_SECONDS, now=monotonic)
        return live in self._read(stale)

    def _read(self, lives: Sequence[LiveRun]) -> list[LiveRun]:
        """Those that may start; the others have ended or wait for another worker."""
        if not lives:
            return []
        read_at = self.departures.clock.monotonic()
        jobs = read_jobs(self.job_store, {live.run.job_key for live in lives})
        ready = []
        for live in lives:
            why = jobs.unreadable.get(live.run.job_key)
            if why is not None:
                self.departures.set_aside(live, why)
            elif self._may_start(live, jobs.found.get(live.run.job_key), read_at):
                ready.append(live)
        return ready

    def _may_start(self, live: LiveRun, job: Job | None, read_at: float) -> bool:
        try:
            reason = self._why_not(live, job)
        except Exception as error:
            # A job that this worker cannot make sense of is set aside alone, and not with its batch.
            _logger.exception("a job could not be judged", extra={"action": "run.read", "run": live.run.key})
            self.departures.set_aside(live, f"its schedule cannot be judged: {error}")
            return False
        if not self.runs.read(live, job, at=read_at):
            return False
        if reason is not None:
            self.departures.end_unstarted(live, reason)
        elif job is not None and not may_claim_again(job.retry, live.run.attempt - live.run.attempts_before):
            self.departures.end_lost(live)
        elif is_old(live.delivery, now=self.departures.clock.now()):
            # Its wait gets a new message, which outlives the run.
            self.departures.hand_back(live)
        else:
            return True
        return False

    def _why_not(self, live: LiveRun, job: Job | None) -> str | None:
        if live.run.cancel_requested_at is not None:
            return "cancelled"
        if job is None:
            self._delete_orphan(live)
        dispatch = live.dispatch
        reason = may_run(
            job,
            live.run.slot,
            generation=dispatch.generation,
            is_single_fire=dispatch.is_single,
            kind=dispatch.kind,
        )
        if job is None or reason is None:
            return reason
        clock_bound_ms = self.departures.settings.clock_bound_ms
        is_begun = goes_on(live.run, reason, changed_at=job.updated_at, clock_bound_ms=clock_bound_ms)
        return None if is_begun else reason

    def _delete_orphan(self, live: LiveRun) -> None:
        """An entry never outlives its job unnoticed: this one would fire for ever."""
        dispatch = live.dispatch
        if self.entry_store is None or dispatch.entry_id is None:
            return
        self.tally.count("orphan")
        # Parked, perhaps, since the message was sent.
        key = EntryKey(dispatch.shard, dispatch.entry_id)
        _logger.warning("an entry without a job", extra={"action": "entry.orphan", "entry": key})
        try:
            self.entry_store.delete([key, key.parked])
        except StoreError as error:
            _logger.warning("not deleted", extra={"action": "entry.orphan", "entry": key, "error": str(error)})
