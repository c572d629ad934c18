"""The start of a run: the last looks at everything that its target relies on, on the thread that calls it."""

from __future__ import annotations

from dataclasses import dataclass

from functions.worker.departures import Departures
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.places import Places
from functions.worker.reading import Reading
from functions.worker.tally import Tally
from functions.worker.targets import Call
from shared.domain.errors import Fenced, StoreError
from shared.domain.instants import SECOND, Instant
from shared.observability.logs import logger_for
from shared.ports import Clock

_logger = logger_for("worker")

#: A held run whose lease has run out waits for a heartbeat, and is looked at again after this.
_UNTRUSTED_WAIT_MS = SECOND


@dataclass(frozen=True, slots=True)
class Starts:
    runs: LiveRuns
    reading: Reading
    places: Places
    departures: Departures
    clock: Clock
    tally: Tally
    #: The monotonic second in which this host ends.
    ends_until: float

    def begin(self, live: LiveRun) -> Call | None:
        """Start the run now; None when it must wait, and is held again, or is not ours any more."""
        try:
            return self._begin(live)
        except Exception as error:
            # Whatever it is, the run must not be left with a lease that is renewed for ever.
            _logger.exception("a run could not be begun", extra={"action": "run.begin", "run": live.run.key})
            self.departures.set_aside(live, f"{type(error).__name__}: {error}")
            return None

    def _begin(self, live: LiveRun) -> Call | None:
        if self._is_early(live, self.clock.now()) or not self._is_fresh(live) or not self._has_place(live):
            return None
        # The place may have taken its time: what was looked at before is looked at again.
        now, monotonic = self.clock.now(), self.clock.monotonic()
        if self._is_early(live, now):
            return None
        if not self.reading.is_fresh(live):
            self.runs.hold(live, until=now)
            return None
        if monotonic >= live.trusted_until:
            # This process slept through its lease: another may have taken the run, whose target must not see our token.
            live.renew_now(monotonic)
            self.runs.hold(live, until=Instant(now + _UNTRUSTED_WAIT_MS))
            return None
        return self._start(live, now, monotonic)

    def _start(self, live: LiveRun, now: Instant, monotonic: float) -> Call | None:
        assert live.job is not None
        timeout_ms = int(min(live.job.timeout_ms, (self.ends_until - monotonic) * SECOND))
        if timeout_ms <= 0:
            self.departures.hand_back(live)
            self.places.leave(live)
            return None
        if not self.runs.start(live, at=now, monotonic=monotonic, timeout_ms=timeout_ms):
            # It was handed back or cancelled a moment ago.
            self.places.leave(live)
            return None
        self.tally.started(live.run, now)
        return live.call()

    def _is_early(self, live: LiveRun, now: Instant) -> bool:
        """The clock was set back since the run was handed out, or since it took its place: it is held again."""
        if now >= live.run.fire_at:
            return False
        self.runs.hold(live, until=live.run.fire_at)
        return True

    def _is_fresh(self, live: LiveRun) -> bool:
        """Whether the run may start with the job as it is now; if not, it has ended, or is held for another try."""
        if self.reading.is_fresh(live):
            return True
        try:
            return self.reading.refresh(live)
        except StoreError as error:
            _logger.warning("not read again", extra={"action": "run.read", "run": live.run.key, "error": str(error)})
            self.runs.hold(live, until=Instant(self.clock.now() + _UNTRUSTED_WAIT_MS))
            return False

    def _has_place(self, live: LiveRun) -> bool:
        """Whether the run may start beside the others of its job; if not, it is ended, or held for another try."""
        try:
            finish = self.places.take(live)
        except Fenced:
            self.departures.fence(live)
            return False
        except StoreError as error:
            _logger.warning("no place", extra={"action": "run.place", "run": live.run.key, "error": str(error)})
            self.runs.hold(live, until=Instant(self.clock.now() + _UNTRUSTED_WAIT_MS))
            return False
        if finish is None:
            return True
        self.tally.count("delayed" if finish.status.is_alive else "overlap")
        self.runs.end(live, finish)
        return False
