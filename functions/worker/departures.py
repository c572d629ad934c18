"""The ways in which a worker parts with a claimed run other than by the answer of its target."""

from __future__ import annotations

from dataclasses import dataclass

from functions.worker.endings import (
    bare,
    finish_after,
    finish_of_lost,
    finish_of_unreadable,
    finish_to_wait,
    finish_without_start,
    is_bare,
)
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.places import waits_since
from functions.worker.settings import WorkerSettings
from functions.worker.tally import Tally
from functions.worker.targets import failed
from shared.domain.errors import ItemRefused, StoreError
from shared.domain.overlap import next_look
from shared.domain.run import Finish
from shared.observability.logs import logger_for
from shared.ports import Clock

_logger = logger_for("worker")


@dataclass(frozen=True, slots=True)
class Departures:
    runs: LiveRuns
    clock: Clock
    settings: WorkerSettings
    tally: Tally

    def end_unstarted(self, live: LiveRun, reason: str) -> None:
        """It must not start, for a reason of `may_run`; one that has started goes on."""
        now, retention_ms = self.clock.now(), self.settings.run_retention_ms
        finish = finish_without_start(live.run, reason, now=now, retention_ms=retention_ms)
        self.tally.count(reason, self.runs.end_unstarted(live, finish))

    def end_lost(self, live: LiveRun) -> None:
        """The workers before this one died of it, as often as its job bears."""
        now, retention_ms = self.clock.now(), self.settings.run_retention_ms
        finish = finish_of_lost(live.run, now=now, retention_ms=retention_ms)
        self.tally.count("lost", self.runs.end_unstarted(live, finish))

    def hand_back(self, live: LiveRun) -> bool:
        """For another worker to take at once as the same attempt; False when it has started or ended by now, or is not
        ours.
        """
        # Due when it was due: what the next worker needs longer shows as drift.
        finish = finish_to_wait(live.run, "handed_back", until=live.run.fire_at, now=self.clock.now())
        is_given_up = self.runs.end_unstarted(live, finish)
        self.tally.count("handed_back", is_given_up)
        return is_given_up

    def leave_line(self, live: LiveRun) -> None:
        """It waited in vain for its receiver, which has as many runs of the owner's as it may: the same attempt waits
        as others do that found no place, and others of the lane have the room that it took.
        """
        now = self.clock.now()
        until = next_look(since=waits_since(live), now=now, are_many=True)
        finish = finish_to_wait(live.run, "receiver_busy", until=until, now=now)
        self.tally.count("delayed", self.runs.end_unstarted(live, finish))

    def cancel(self, live: LiveRun) -> None:
        """Its end was asked for. One that started goes on until its target heeds `cancelled`; whatever comes of it, the
        store records it as cancelled.
        """
        live.cancelled.set()
        self.end_unstarted(live, "cancelled")

    def set_aside(self, live: LiveRun, why: str) -> None:
        """This worker cannot make sense of its job: for a worker that can. In the end it fails, and says why."""
        now, retention_ms = self.clock.now(), self.settings.run_retention_ms
        since = live.dispatch.enqueued_at
        finish = finish_of_unreadable(live.run, why, since=since, now=now, retention_ms=retention_ms)
        is_ours = self.runs.end_unstarted(live, finish)
        if not is_ours and live.started_at is not None:
            outcome = failed("unreadable_job", why, is_permanent=True)
            finish = finish_after(live, outcome, now=now, retention_ms=retention_ms, dice=0)
            is_ours = self.runs.end(live, finish)
        self.tally.count("set_aside", is_ours)
        self.tally.count("failed", is_ours and not finish.status.is_alive)

    def keep_unstored(self, live: LiveRun, finish: Finish, error: StoreError) -> None:
        """Its end was not stored, alone of its batch. It is tried again; what the table will never take, without what
        its target left; and what it does not even take then is left to its lease.
        """
        self.tally.count("set_aside")
        is_lost = isinstance(error, ItemRefused) and is_bare(finish)
        _logger.error(
            "the end of a run was not stored",
            extra={
                "action": "run.finish",
                "run": live.run.key,
                "token": live.run.token,
                "error": str(error),
                "next": "given up" if is_lost else "tried again",
            },
        )
        if is_lost:
            self.runs.remove([live])
            return
        if isinstance(error, ItemRefused):
            self.runs.replace_end(live, bare(finish, str(error)))
        self.runs.put_back_ending([live])

    def fence(self, live: LiveRun) -> None:
        """Someone else has the run: its result is discarded, its message left to them."""
        live.cancelled.set()
        self.runs.remove([live])
        self.tally.count("fenced")
        _logger.warning(
            "a run was fenced", extra={"action": "run.fenced", "run": live.run.key, "token": live.run.token}
        )
