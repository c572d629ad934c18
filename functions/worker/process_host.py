"""The worker as a process that polls its lanes until it is told to stop.

Per lane: receivers (several, so that the claim of one batch does not delay another), one thread that watches the time,
some that store ends, one for heartbeats, and two crews: the threads of the handlers, and those that send webhooks and
take their answers. Each loop is a step of the executor with an
edge around it.

Stop: receiving ends first; what a poll still brings is handed back at once, and so is what was claimed and has not
started: its lease is given up by a conditional write, then its message shown. What runs is finished under its
heartbeat, for as long as the host's own stop time-out allows. A task that a deployment supersedes does the same by
itself, but waits first for runs that need longer than a stop allows (`protection`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread

from functions.worker.arrivals import Arrivals
from functions.worker.crews import Crews
from functions.worker.executor import Executor
from functions.worker.health import loop_of
from functions.worker.live_runs import ENDS_OF_A_BATCH
from functions.worker.messages import Messages
from functions.worker.protection import Protection
from functions.worker.settings import WorkerSettings
from functions.worker.waiting import wait_until_due
from shared.domain.instants import MINUTE, SECOND
from shared.domain.limits import MIN_TIMEOUT_MS
from shared.observability.announcing import Announcements
from shared.observability.logs import logger_for
from shared.observability.metrics import MetricLog, Values
from shared.observability.pulse import Pulse
from shared.observability.troubles import Troubles
from shared.ports import Clock, Delivery, DueQueue

_logger = logger_for("worker")

#: Gives no signs of life.
NO_PULSE = Pulse()
_RECEIVE_LIMIT = 10
_PAUSE_AFTER_FAULT_SECONDS = 1.0
#: Ends are stored together when they come within this. At a hundred runs a second each costs three calls otherwise; a
#: worker that dies meanwhile is as if it had died a moment before the end.
_LINGER_SECONDS = 0.05
_ROOM_WAIT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class HostSettings:
    receivers: int = 4
    finishers: int = 2
    #: Of a long poll; also the longest that a stop waits for one.
    wait_seconds: int = 10
    #: A look at the clock and at the deadlines at least this often, for the wall clock may be set forward; no longer
    #: than the shortest time-out of a job, or that one is noticed late.
    look_seconds: float = MIN_TIMEOUT_MS / SECOND
    #: From the signal to the end; below the 120 s after which ECS kills.
    stop_ms: int = 110 * SECOND
    #: Between two reports of metrics: CloudWatch keeps minutes.
    report_ms: int = MINUTE


class LaneHost:
    """One lane's threads."""

    def __init__(
        self,
        lane: str,
        queue: DueQueue,
        executor: Executor,
        *,
        clock: Clock,
        worker: WorkerSettings,
        host: HostSettings,
        pulse: Pulse = NO_PULSE,
    ) -> None:
        self._lane = lane
        self._pulse = pulse
        self._queue = queue
        self._messages = Messages(queue)
        self._executor = executor
        self._clock = clock
        self._worker = worker
        self._host = host
        self._arrivals = Arrivals(executor.claim_once, at_once=max(host.receivers // 2, 1))
        self._crews = Crews(executor, count=worker.threads, spare=worker.threads)
        self._stops_receiving = Event()
        self._stops = Event()
        self._receivers: list[Thread] = []
        self._others: list[Thread] = []
        #: By step; its threads share one.
        self._troubles: dict[str, Troubles] = {}
        self._failures_told = 0

    @property
    def longest_ms(self) -> float:
        """How long what runs may still take."""
        return self._executor.runs.longest_left_ms(self._clock.monotonic())

    @property
    def is_stuck(self) -> bool:
        """Handlers that do not return have taken every thread, or the host gives none."""
        return self._crews.is_stuck

    def start(self) -> None:
        steps: dict[Callable[[], None], int] = {
            self._watch_time: 1,
            self._store_ends: self._host.finishers,
            self._keep_alive: 1,
        }
        for step in (*steps, self._receive):
            self._troubles[step.__name__] = Troubles(_logger, {"action": f"worker{step.__name__}", "lane": self._lane})
        self._others = [self._thread(step, self._stops) for step, count in steps.items() for _ in range(count)]
        self._receivers = [self._thread(self._receive, self._stops_receiving) for _ in range(self._host.receivers)]

    def measured(self) -> Values:
        """Metrics of what happened since the last call, and of what goes on."""
        failures = sum(troubles.count for troubles in self._troubles.values())
        rise, self._failures_told = failures - self._failures_told, failures
        of_steps = {"step_failures": rise} if rise else {}
        return {**self._executor.measured(), **of_steps, "in_flight": len(self._executor.runs)}

    def stop_receiving(self) -> None:
        self._stops_receiving.set()
        self._executor.hand_back_once()

    def drain(self, *, until: float) -> None:
        """Finish what has started, until the monotonic second `until` at the latest."""
        runs = self._executor.runs
        for receiver in self._receivers:
            receiver.join(max(until - self._clock.monotonic(), 0))
        # What they were about to claim when they were stopped, and what a claim that failed has left.
        self._executor.hand_back_once()
        self._show(self._arrivals.take_all())
        with runs.ended:
            runs.ended.wait_for(lambda: not len(runs), timeout=max(until - self._clock.monotonic(), 0))
        if len(runs):
            _logger.warning(
                "stopped with runs unfinished", extra={"action": "worker.drain", "lane": self._lane, "runs": len(runs)}
            )
            runs.cancel_all()
        self._stops.set()
        for other in self._others:
            other.join(2 * self._host.look_seconds)
        self._crews.close()

    def _thread(self, step: Callable[[], None], until: Event) -> Thread:
        thread = Thread(target=self._repeat, args=(step, until), name=f"{self._lane}-{step.__name__}", daemon=True)
        thread.start()
        return thread

    def _repeat(self, step: Callable[[], None], until: Event) -> None:
        loop = loop_of(self._lane, step.__name__.lstrip("_"))
        troubles = self._troubles[step.__name__]
        while not until.is_set():
            self._pulse.beat(loop)
            try:
                step()
            except Exception as error:  # noqa: BLE001 (the edge of a loop)
                troubles.failed(error, now=self._clock.monotonic())
                until.wait(timeout=_PAUSE_AFTER_FAULT_SECONDS)
            else:
                troubles.went_well(now=self._clock.monotonic())

    def _receive(self) -> None:
        self._arrivals.claim_waiting()
        limit = min(self.room(), _RECEIVE_LIMIT)
        if limit <= 0:
            if self._executor.runs.launched < self._crews.usable:
                self._stops_receiving.wait(timeout=_ROOM_WAIT_SECONDS)
            else:
                runs = self._executor.runs
                runs.wait_until_launched_below(self._crews.usable, at_most_seconds=_ROOM_WAIT_SECONDS)
            return
        deliveries = self._queue.receive(
            limit=limit, wait_seconds=self._host.wait_seconds, visibility_seconds=self._worker.visibility_seconds
        )
        if self._stops_receiving.is_set():
            self._show(deliveries)
        else:
            self._arrivals.come(deliveries)

    def _show(self, deliveries: Sequence[Delivery]) -> None:
        """To other workers, at once."""
        self._messages.hide_all(deliveries, seconds=0)

    def room(self) -> int:
        """How many messages may be taken. A run that would wait for a thread or for its answer here is better off with
        another worker, and nobody knows of a message which of the two it needs.
        """
        runs, worker = self._executor.runs, self._worker
        is_full = runs.launched >= self._crews.usable or runs.places_left <= 0
        if is_full or runs.weight >= worker.most_weight:
            return 0
        return min(
            worker.may_hold(runs.usual_ms) - runs.unstarted,
            worker.may_hold_for_receivers(runs.usual_answer_ms) - runs.unsent,
        )

    def _watch_time(self) -> None:
        self._crews.revive()
        for live in self._executor.start_due_once():
            self._crews.launch(live)
        for live in self._executor.expire_once():
            self._crews.abandon(live)
        runs = self._executor.runs
        wait_until_due(runs.held_changed, runs, self._clock, at_most_seconds=self._host.look_seconds)

    def _store_ends(self) -> None:
        runs = self._executor.runs
        with runs.ended:
            if not runs.ended.wait_for(lambda: runs.ending > 0, timeout=self._host.look_seconds):
                return
            runs.ended.wait_for(lambda: runs.ending >= ENDS_OF_A_BATCH, timeout=_LINGER_SECONDS)
        self._executor.finish_once()

    def _keep_alive(self) -> None:
        self._executor.read_once()
        self._executor.heartbeat_once()
        if not self._stops_receiving.is_set():
            self._executor.look_again_once()
        self._stops.wait(timeout=min(self._worker.lease_seconds / 6, self._host.look_seconds))


class ProcessHost:
    def __init__(
        self,
        lanes: Mapping[str, LaneHost],
        *,
        clock: Clock,
        host: HostSettings,
        metrics: MetricLog,
        protection: Protection,
        announcements: Announcements,
    ) -> None:
        self._announcements = announcements
        self._lanes = dict(lanes)
        self._protection = protection
        self._clock = clock
        self._host = host
        self._metrics = metrics
        self._reports_at = clock.monotonic() + host.report_ms / SECOND
        #: Not an Event: a signal handler that sets one can meet its lock held by the very thread it interrupts.
        self._stop: SimpleQueue[None] = SimpleQueue()

    def stop(self) -> None:
        """May be called from a signal handler; `run` returns when everything is finished."""
        self._stop.put(None)

    def run(self) -> int:
        """Serve until `stop`, or until another task has taken this one's place; answers the exit status: 1 when stuck
        handlers were the reason.
        """
        for lane in self._lanes.values():
            lane.start()
        _logger.info("worker started", extra={"action": "worker.start", "lanes": list(self._lanes)})
        is_stuck = receives_nothing = False
        while not self._is_stopped() and not is_stuck and not self._protection.may_end(longest_ms=self._longest_ms()):
            is_stuck = any(lane.is_stuck for lane in self._lanes.values())
            self._announcements.publish_once()
            self._protection.look(longest_ms=self._longest_ms())
            if self._protection.is_superseded and not receives_nothing:
                receives_nothing = True
                for lane in self._lanes.values():
                    lane.stop_receiving()
            if self._clock.monotonic() >= self._reports_at:
                self._reports_at += self._host.report_ms / SECOND
                self._report()
        until = self._clock.monotonic() + self._host.stop_ms / SECOND
        _logger.info("worker stopping", extra={"action": "worker.stop", "is_stuck": is_stuck})
        for lane in self._lanes.values():
            lane.stop_receiving()
        for lane in self._lanes.values():
            lane.drain(until=until)
        self._announcements.publish_once()
        self._report()
        _logger.info("worker stopped", extra={"action": "worker.stopped"})
        return int(is_stuck)

    def _longest_ms(self) -> float:
        return max((lane.longest_ms for lane in self._lanes.values()), default=0.0)

    def _report(self) -> None:
        for lane in self._lanes.values():
            self._metrics.put(lane.measured(), at=self._clock.now())
        replaced = {"superseded": self._protection.superseded_ms} if self._protection.is_superseded else {}
        self._metrics.put({**self._announcements.measured(), **replaced}, at=self._clock.now())

    def _is_stopped(self) -> bool:
        try:
            self._stop.get(timeout=self._host.look_seconds)
        except Empty:
            return False
        return True
