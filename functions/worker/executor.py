"""The executor: every act of the worker as a public step, for two hosts, for tests and for the simulation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import inf

from functions.worker.admission import Buried, admit
from functions.worker.bookkeeping import Bookkeeper
from functions.worker.claims import Claimed, Claims
from functions.worker.departures import Departures
from functions.worker.endings import finish_after
from functions.worker.heartbeats import Heartbeats
from functions.worker.live_run import LiveRun
from functions.worker.live_runs import ENDS_OF_A_BATCH, LiveRuns
from functions.worker.messages import Messages
from functions.worker.places import Places
from functions.worker.reading import Reading
from functions.worker.receivers import Receivers
from functions.worker.settings import WorkerSettings
from functions.worker.starting import Starts
from functions.worker.tally import Tally
from functions.worker.targets import Call, Later, Outcome, Targets, failed, timed_out
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from shared.domain.run import Finish, RunStatus
from shared.observability.announcing import Announcements
from shared.observability.logs import logger_for
from shared.observability.metrics import Values
from shared.ports import (
    Clock,
    DeadLetterQueue,
    Delivery,
    EntryStore,
    JobStore,
    Randomness,
    ReceivedMessages,
    RunStore,
)
from shared.schema import DEFAULT_LANE

_logger = logger_for("worker")

_WORKER_ID_BYTES = 8


def new_worker_id(randomness: Randomness) -> str:
    """Fresh at every start: a worker never mistakes the claims of its predecessor for its own."""
    return randomness.random_bytes(_WORKER_ID_BYTES).hex()


class Executor:
    """Each step may be called from any thread; none waits for time to pass.

    `ends_until` is the monotonic second in which this host ends, if it is known to: no run is started that could not
    end before.
    """

    def __init__(
        self,
        *,
        queue: ReceivedMessages,
        run_store: RunStore,
        job_store: JobStore,
        targets: Targets,
        clock: Clock,
        randomness: Randomness,
        settings: WorkerSettings,
        worker_id: str,
        lane: str = DEFAULT_LANE,
        entry_store: EntryStore | None = None,
        dead_letters: DeadLetterQueue | None = None,
        ends_until: float | None = None,
        announcements: Announcements | None = None,
    ) -> None:
        self._randomness = randomness
        self._targets = targets
        self._clock = clock
        self._settings = settings
        self._ends_until = inf if ends_until is None else ends_until
        self._messages = Messages(queue)
        self._claims = Claims(
            run_store, self._messages, clock=clock, randomness=randomness, settings=settings, worker_id=worker_id
        )
        told = Announcements(None) if announcements is None else announcements
        self._bookkeeper = Bookkeeper(run_store, job_store, self._messages, dead_letters, clock, settings, lane, told)
        self._places = Places(job_store, run_store, clock, settings)
        self._finish_limit = ENDS_OF_A_BATCH
        self.runs = LiveRuns(Receivers(settings.webhooks))
        self._tally = Tally()
        self._departures = Departures(self.runs, clock, settings, self._tally)
        self._reading = Reading(job_store, entry_store, self.runs, self._departures, self._tally)
        self._starts = Starts(
            self.runs, self._reading, self._places, self._departures, clock, self._tally, self._ends_until
        )
        self._heartbeats = Heartbeats(
            run_store, self.runs, self._messages, self._places, self._departures, clock, settings
        )

    @property
    def counts(self) -> Counter[str]:
        """What was seen since the start, by name."""
        return self._tally.counts

    def measured(self) -> Values:
        """Metrics of what happened since the last call."""
        return self._tally.measured()

    # Claim and read --------------------------------------------------------------------------------------------------

    def claim_once(self, deliveries: Sequence[Delivery]) -> list[LiveRun]:
        """Claim, read and hold what is to run; answers what was claimed. Raises StoreError."""
        admitted = [delivery for delivery in deliveries if self._is_admitted(delivery)]
        if not admitted:
            return []
        return self._take(self._claims.claim(admitted))

    def look_again_once(self) -> list[LiveRun]:
        """Take over the runs of other workers that fell silent while this one watched. Raises StoreError."""
        return self._take(self._claims.look_again())

    @property
    def watched(self) -> int:
        """Runs of other workers that `look_again_once` may take over."""
        return self._claims.watched

    def _take(self, claimed: Claimed) -> list[LiveRun]:
        """Read what was claimed, and be done with what has ended."""
        self._tally.count("claimed", len(claimed.runs))
        self._tally.count("duplicate", len(claimed.duplicates))
        self._tally.count("set_aside", claimed.failed)
        self.runs.add(claimed.runs)
        try:
            self._reading.read(claimed.runs)
        finally:
            if claimed.duplicates:
                self._bookkeeper.drop(claimed.duplicates)
        return claimed.runs

    def read_once(self) -> None:
        """Read again for claimed runs whose job could not be read, and for held ones that are due soon. Raises
        StoreError.
        """
        self._reading.read(self.runs.take_unread())
        self._reading.read_again_once()

    def _is_admitted(self, delivery: Delivery) -> bool:
        left_ms = (self._ends_until - self._clock.monotonic()) * SECOND
        decision = admit(delivery, self._settings, now=self._clock.now(), left_ms=left_ms)
        if decision is None:
            return True
        if isinstance(decision, Buried):
            self._tally.count("set_aside")
            self._bookkeeper.bury_unreadable(delivery, decision.why)
            return False
        self._tally.count(decision.reason)
        if decision.reason == "unreadable":
            _logger.warning(
                "a message of a later version waits for a worker that can read it",
                extra={
                    "action": "message.unreadable",
                    "message_id": delivery.message_id,
                    "receives": delivery.receive_count,
                },
            )
        self._messages.hide(delivery, seconds=decision.seconds)
        return False

    # Start and end ---------------------------------------------------------------------------------------------------

    def start_due_once(self) -> list[LiveRun]:
        """The runs whose time has come, each to be given to `execute` by the host. Those that wait for a receiver for
        too long are given up: at once while the jobs in hand take half of what they may.
        """
        monotonic, settings = self._clock.monotonic(), self._settings
        due = self.runs.take_due(self._clock.now(), monotonic)
        is_full = 2 * self.runs.weight >= settings.most_weight
        since = inf if is_full else monotonic - settings.patience_ms / SECOND
        for live in self.runs.impatient(since=since, most=settings.most_in_line):
            self._departures.leave_line(live)
        return due

    def execute(self, live: LiveRun) -> Later | None:
        """Start the run, call its target and end it: on a thread of the host's, for as long as the target takes. One
        that answers later holds no thread meanwhile: it is given to `go_on` once its answer is there.
        """
        call = self.begin(live)
        return None if call is None else self._ended(live, lambda: self._targets.call(call))

    def go_on(self, live: LiveRun, later: Later) -> Later | None:
        """End a run whose answer is there; once more a Later where it leads on, as a redirect does."""
        return self._ended(live, later.go_on)

    def begin(self, live: LiveRun) -> Call | None:
        """Start the run now; None when it must wait, and is held again, or is not ours any more."""
        return self._starts.begin(live)

    def hand_back(self, live: LiveRun) -> None:
        """Give up one that was to start and cannot here, for another worker to take at once as the same attempt."""
        self._departures.hand_back(live)

    def hand_back_once(self) -> int:
        """Give up what has not started, for another worker to take at once as the same attempt; answers how many."""
        return sum(self._departures.hand_back(live) for live in self.runs.not_begun())

    def end(self, live: LiveRun, outcome: Outcome) -> bool:
        """Decide how the run ended; False when that was decided before, and `outcome` is discarded."""
        finish = finish_after(
            live,
            outcome,
            now=self._clock.now(),
            retention_ms=self._settings.run_retention_ms,
            dice=self._randomness.fraction(),
        )
        if not self.runs.end(live, finish):
            self._tally.count("discarded")
            return False
        self._tally.count("retried" if finish.status.is_alive else outcome.status)
        if outcome.status is not RunStatus.SUCCEEDED:
            _logger.info(
                "a run did not succeed",
                extra={
                    "action": "run.end",
                    "run": live.run.key,
                    "status": outcome.status,
                    "retry_at": finish.lease_until,
                    "error_type": None if finish.error is None else finish.error.type,
                },
            )
        return True

    def expire_once(self) -> list[LiveRun]:
        """End the runs whose deadline has passed, and answer them: their threads go on until the handler returns."""
        expired = self.runs.take_expired(self._clock.monotonic())
        for live in expired:
            # Decided first: a handler that answers to `cancelled` at once must not win against its own deadline.
            self.end(live, timed_out(f"no end within {live.timeout_ms} ms"))
            live.cancelled.set()
        return expired

    def _ended(self, live: LiveRun, act: Callable[[], Outcome | Later]) -> Later | None:
        try:
            answer = act()
        except Exception as error:
            _logger.exception("a target broke", extra={"action": "run.target", "run": live.run.key})
            answer = failed(type(error).__name__, "the target broke; the worker's log has more")
        if isinstance(answer, Later):
            return answer
        self.end(live, answer)
        return None

    # Finish and heartbeat --------------------------------------------------------------------------------------------

    def finish_once(self) -> int:
        """Store a batch of ends and acknowledge their messages; answers how many were tried. Raises StoreError, and
        keeps what was not stored.
        """
        ends = self.runs.take_ending(self._finish_limit)
        if not ends:
            return 0
        try:
            self._store(ends)
        except Exception:
            # Alone from now on, so that the one at fault cannot hold up the others.
            self._finish_limit = 1
            self.runs.put_back_ending(live for live, _ in ends)
            raise
        self._finish_limit = ENDS_OF_A_BATCH
        return len(ends)

    def _store(self, ends: Sequence[tuple[LiveRun, Finish]]) -> None:
        stored = self._bookkeeper.store(ends)
        done = []
        for (live, finish), status in zip(ends, stored, strict=True):
            if isinstance(status, StoreError):
                self._departures.keep_unstored(live, finish, status)
                continue
            if status is None:
                self._departures.fence(live)
            done.append(live)
        self.runs.remove(done)

    def heartbeat_once(self) -> None:
        """Extend lease and visibility of the runs that are a third into their lease. Raises StoreError."""
        self._heartbeats.beat_once()
