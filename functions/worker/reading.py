"""Reading the jobs of claimed runs: each is held until it is due, or ends without a start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.worker.departures import Departures
from functions.worker.endings import finish_after
from functions.worker.keeping import is_old
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.tally import Tally
from functions.worker.targets import failed
from shared.domain.errors import StoreError
from shared.domain.job import Job, may_run
from shared.domain.keys import EntryKey
from shared.domain.retry import may_claim_again
from shared.observability.logs import logger_for
from shared.ports import EntryStore, JobStore

_logger = logger_for("worker")


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
            jobs = self.job_store.get_many({live.run.job_key for live in claimed})
        except StoreError:
            self.runs.put_unread(claimed)
            raise
        for live in claimed:
            self._hold_or_end(live, jobs.get(live.run.job_key))

    def _hold_or_end(self, live: LiveRun, job: Job | None) -> None:
        try:
            reason = self._why_not(live, job)
        except Exception as error:
            # A job that this worker cannot make sense of fails alone, and not with its batch.
            _logger.exception("a job could not be judged", extra={"action": "run.read", "run": live.run.key})
            self._fail(live, f"this worker cannot judge the job's schedule: {error}")
            return
        live.job = job
        if reason is not None:
            self.departures.end_unstarted(live, reason)
        elif job is not None and not may_claim_again(job.retry, live.run.attempt - live.run.attempts_before):
            self.departures.end_lost(live)
        elif is_old(live.delivery, now=self.departures.clock.now()):
            # Its wait gets a new message, which outlives the run.
            self.departures.hand_back(live)
        else:
            self.runs.hold(live, until=live.run.fire_at)

    def _why_not(self, live: LiveRun, job: Job | None) -> str | None:
        if live.run.cancel_requested_at is not None:
            return "cancelled"
        if job is None:
            self._delete_orphan(live)
        dispatch = live.dispatch
        return may_run(job, live.run.slot, generation=dispatch.generation, is_single_fire=dispatch.is_single)

    def _fail(self, live: LiveRun, why: str) -> None:
        clock, retention_ms = self.departures.clock, self.departures.settings.run_retention_ms
        outcome = failed("unreadable_job", why)
        if self.runs.end(live, finish_after(live, outcome, now=clock.now(), retention_ms=retention_ms, dice=0)):
            self.tally.count(outcome.status)

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
