"""The signs of life of claimed runs."""

from __future__ import annotations

from dataclasses import dataclass

from functions.worker.departures import Departures
from functions.worker.live_runs import LiveRuns
from functions.worker.messages import Messages
from functions.worker.places import Places
from functions.worker.settings import WorkerSettings
from shared.domain.instants import Instant
from shared.ports import Clock, RunStore
from shared.ports.run_store import Heartbeat, HeartbeatAnswer


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
        beats = [
            Heartbeat(live.run.key, live.run.token, lease_until, started_at=live.started_at, progress=live.progress)
            for live in due
        ]
        kept = []
        for live, answer in zip(due, self.run_store.heartbeat(beats), strict=True):
            if answer is HeartbeatAnswer.CANCEL_REQUESTED:
                self.departures.cancel(live)
            if answer is not HeartbeatAnswer.FENCED:
                kept.append(live)
                live.trusted_until = began + self.settings.lease_seconds
                live.renew_until = began + self.settings.lease_seconds / 3
                if live.finish is None:
                    self.messages.hide(live.delivery, seconds=self.settings.visibility_seconds)
            elif live.finish is None:
                # Refused with an end in hand means only that the end was stored a moment ago, or will be refused too.
                self.departures.fence(live)
        for live in self.places.extend(kept, until=lease_until):
            if live.finish is None:
                # Silent for so long that another run took the place: beside it this one must not go on.
                self.departures.fence(live)
