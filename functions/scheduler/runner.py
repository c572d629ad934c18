"""The loops of a node: four threads, each calling public steps and nothing else.

The hot one ticks and dispatches, the beat is alone so that nothing delays the node's sign of life, housekeeping does
the rest, each step at its interval, and the last tells lifecycle events, for which nothing waits. A step that fails is
logged and tried again at its next turn, later each time and by chance, so that a table that comes back is not met by
all nodes at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Event, Thread

from functions.scheduler.gauges import Gauges, LoopLag
from functions.scheduler.health import BEAT, HOT, HOUSEKEEPING
from functions.scheduler.node import Node
from shared.domain.errors import StoreError
from shared.observability.logs import logger_for
from shared.observability.metrics import MetricLog
from shared.observability.pulse import Pulse
from shared.ports import Clock, Randomness

_log = logger_for("scheduler")

#: Between two ticks of the wheel.
TICK_SECONDS = 0.01
#: Between two looks at what housekeeping has to do.
HOUSEKEEPING_SECONDS = 0.1
TIDY_MS = 250
#: The loop that no health check asks after, and its interval.
EVENTS, EVENTS_SECONDS = "events", 0.5
#: Between two reports of metrics: CloudWatch keeps minutes.
REPORT_SECONDS = 60.0
#: Added to the interval of a step that failed, at most: doubles from the first to the longest.
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0
#: A node whose beat is late stops; one whose lane fails must still serve the others.
LONGEST_PAUSE_OF_BEAT_SECONDS = 1.0
LONGEST_PAUSE_OF_HOT_SECONDS = 0.2
#: For leaving: what is not sent by then stays unsettled, and the next owner sends it.
DRAIN_SECONDS = 2.0


@dataclass(slots=True)
class Step:
    """One step of a node and its interval; `due_at` is monotonic."""

    name: str
    run: Callable[[], object]
    every_seconds: float
    longest_pause_seconds: float = LONGEST_PAUSE_SECONDS
    #: It works in slices, and answers whether another one waits.
    is_sliced: bool = False
    due_at: float = float("-inf")
    failures: int = 0

    def run_if_due(self, clock: Clock, dice: Randomness) -> bool:
        """Whether it has more to do at once, after the other steps had their turn."""
        started_at = clock.monotonic()
        if started_at < self.due_at:
            return False
        self.due_at = started_at + self.every_seconds
        has_more = False
        try:
            has_more = bool(self.run()) and self.is_sliced
        except StoreError as error:
            self._pause(dice)
            _log.warning("store", extra={"action": f"step.{self.name}", "error": str(error), "failures": self.failures})
        except Exception:  # noqa: BLE001 (the edge of a loop)
            # A bug in one step must not stop the others: shards would go silent one by one.
            self._pause(dice)
            _log.exception("failed", extra={"action": f"step.{self.name}"})
        else:
            self.failures = 0
        if has_more:
            self.due_at = started_at
        return has_more

    def _pause(self, dice: Randomness) -> None:
        """Full jitter."""
        bound = min(self.longest_pause_seconds, FIRST_PAUSE_SECONDS * 2 ** min(self.failures, 10))
        self.failures += 1
        self.due_at += bound * dice.fraction()


@dataclass(slots=True)
class Runner:
    """Runs a node until it is asked to stop, then drains it."""

    node: Node
    clock: Clock
    pulse: Pulse = field(default_factory=Pulse)
    metrics: MetricLog | None = None
    _stops: Event = field(default_factory=Event)
    #: Not the Event: a signal handler that sets one can meet its lock held by the very thread it interrupts.
    _asked: SimpleQueue[None] = field(default_factory=SimpleQueue)

    def stop(self) -> None:
        """May be called from a signal handler."""
        self._asked.put(None)

    def run(self) -> None:
        """Raises OSError when the signs of life cannot be given, ShardCountPinned when the fleet is of another size."""
        self.pulse.begin()
        if not self._start():
            return
        threads = [self._thread(name, steps, pause_seconds) for name, steps, pause_seconds in self._loops()]
        for thread in threads:
            thread.start()
        self._asked.get()
        self._stops.set()
        until = self.clock.monotonic() + DRAIN_SECONDS
        for thread in threads:
            # One that waits for a table or a queue is not waited for: what it would do is no harm beside the drain.
            thread.join(max(until - DRAIN_SECONDS / 2 - self.clock.monotonic(), 0))
        self.node.drain(until=until)
        self.node.ports.announcements.publish_once()

    def _start(self) -> bool:
        """Waits for a table that does not answer; False when asked to stop meanwhile."""
        bound = FIRST_PAUSE_SECONDS
        while True:
            self.pulse.beat(BEAT)
            try:
                self.node.start()
            except StoreError as error:
                _log.warning("store", extra={"action": "node.start", "error": str(error)})
            else:
                return True
            bound = min(LONGEST_PAUSE_SECONDS, 2 * bound)
            try:
                self._asked.get(timeout=bound * self.node.ports.randomness.fraction())
            except Empty:
                continue
            return False

    def _loops(self) -> list[tuple[str, list[Step], float]]:
        node, timing = self.node, self.node.settings.timing
        beat = [Step("beat", node.beat_once, timing.beat_ms / 1000, LONGEST_PAUSE_OF_BEAT_SECONDS)]
        lag = LoopLag(self.clock, TICK_SECONDS)
        hot = [
            Step("turn", lag.turn, 0),
            Step("tick", node.tick_once, 0, LONGEST_PAUSE_OF_HOT_SECONDS),
            Step("dispatch", node.dispatch_once, 0, LONGEST_PAUSE_OF_HOT_SECONDS),
        ]
        housekeeping = [
            Step("plan", node.plan_once, timing.plan_ms / 1000),
            Step("load", node.load_once, timing.plan_ms / 1000, is_sliced=True),
            Step("sweep", node.sweep_once, timing.sweep_ms / 1000, is_sliced=True),
            Step("look_ahead", node.look_ahead_once, node.settings.herds.look_ahead_ms / 1000, is_sliced=True),
            Step("tidy", node.tidy_once, TIDY_MS / 1000),
            Step("checkpoint", node.checkpoint_once, timing.checkpoint_ms / 1000),
            Step("audit", node.audit_once, node.settings.audit.every_ms / 1000),
            Step("report", self._reporting(lag), REPORT_SECONDS),
        ]
        return [
            (BEAT, beat, HOUSEKEEPING_SECONDS),
            (HOT, hot, TICK_SECONDS),
            (HOUSEKEEPING, housekeeping, HOUSEKEEPING_SECONDS),
            (EVENTS, [Step("announce", node.ports.announcements.publish_once, EVENTS_SECONDS)], EVENTS_SECONDS),
        ]

    def _reporting(self, lag: LoopLag) -> Callable[[], None]:
        gauges = Gauges(self.node, lag)

        def report() -> None:
            if self.metrics is not None:
                self.metrics.put(gauges.take(), at=self.clock.now())

        return report

    def _thread(self, name: str, steps: list[Step], pause_seconds: float) -> Thread:
        def loop() -> None:
            while not self._stops.is_set():
                self.pulse.beat(name)
                have_more = [step.run_if_due(self.clock, self.node.ports.randomness) for step in steps]
                if not any(have_more):
                    self._stops.wait(pause_seconds)

        return Thread(target=loop, name=name, daemon=True)
