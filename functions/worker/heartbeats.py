"""The signs of life of claimed runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.worker.departures import Departures
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.messages import Messages
from functions.worker.places import Places
from functions.worker.settings import WorkerSettings
from shared.domain.instants import Instant
from shared.observability.logs import logger_for
from shared.ports import Clock, RunStore
from shared.ports.run_store import Heartbeat, HeartbeatAnswer

_logger = logger_for("worker")

_KEPT = {HeartbeatAnswer.KEPT, HeartbeatAnswer.CANCEL_REQUESTED}


@dataclass(frozen=True, slots=True)
class Heartbeats:
    run_store: RunStore
    runs: LiveRuns
    messages: Messages
    places: Places
    departures: Departures
    clock: Clock
    settings: WorkerSettings

    def beat_once(self) -> None:
        """Extend lease and visibility of the runs that are a third into their lease. Raises StoreError."""
        due = self.runs.to_renew(self.clock.monotonic())
        if not due:
            return
        began = self.clock.monotonic()
        lease_until = Instant(self.clock.now() + self.settings.lease_ms)
        kept = []
        for live, answer in zip(due, self._beat(due, lease_until), strict=True):
            if answer is HeartbeatAnswer.CANCEL_REQUESTED:
                self.departures.cancel(live)
            if answer in _KEPT:
                kept.append(live)
                lease_seconds = self.settings.lease_seconds
                live.renew(trusted_until=began + lease_seconds, renew_until=began + lease_seconds / 3)
            elif answer is HeartbeatAnswer.FENCED and live.finish is None:
                # Refused with an end in hand means only that the end was stored a moment ago, or will be refused too.
                self.departures.fence(live)
        self.messages.hide_all(
            [live.delivery for live in kept if live.finish is None], seconds=self.settings.visibility_seconds
        )
        for live in self.places.extend(kept, until=lease_until):
            if live.finish is None:
                # Silent for so long that another run took the place: beside it this one must not go on.
                self.departures.fence(live)

    def _beat(self, due: Sequence[LiveRun], lease_until: Instant) -> list[HeartbeatAnswer]:
        now = self.clock.now()
        beats = [
            Heartbeat(
                live.run.key,
                live.run.token,
                lease_until,
                started_at=live.started_at,
                revision=live.revision,
                progress=live.progress,
                lists=not live.is_listed and live.run.is_late_at(now),
            )
            for live in due
        ]
        answers = self.run_store.heartbeat(beats)
        for live, beat, answer in zip(due, beats, answers, strict=True):
            live.is_listed = live.is_listed or beat.lists
            if answer is HeartbeatAnswer.FAILED:
                # It is asked for again at once, and goes on until its lease is over.
                self.departures.tally.count("set_aside")
                _logger.error(
                    "a run's lease was not renewed",
                    extra={"action": "run.heartbeat", "run": live.run.key, "token": live.run.token},
                )
        return answers
