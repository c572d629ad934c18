"""The loops of a node: three threads, each calling public steps and nothing else.

The hot one ticks and dispatches, the beat is alone so that nothing delays the node's sign of life, and housekeeping
does the rest, each step at its interval. A step that fails is logged and tried again at its next turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread

from functions.scheduler.node import Node
from shared.domain.errors import StoreError
from shared.observability.logs import logger_for
from shared.ports import Clock

_log = logger_for("scheduler")

#: Between two ticks of the wheel.
TICK_SECONDS = 0.01
#: Between two looks at what housekeeping has to do.
HOUSEKEEPING_SECONDS = 0.1
TIDY_MS = 250


@dataclass(slots=True)
class Step:
    """One step of a node and its interval; `due_at` is monotonic."""

    name: str
    run: Callable[[], object]
    every_seconds: float
    due_at: float = float("-inf")

    def run_if_due(self, clock: Clock) -> None:
        started_at = clock.monotonic()
        if started_at < self.due_at:
            return
        self.due_at = started_at + self.every_seconds
        try:
            self.run()
        except StoreError as error:
            _log.warning("store", extra={"action": f"step.{self.name}", "error": str(error)})
        except Exception:  # noqa: BLE001 (the edge of a loop)
            # A bug in one step must not stop the others: shards would go silent one by one.
            _log.exception("failed", extra={"action": f"step.{self.name}"})


@dataclass(slots=True)
class Runner:
    """Runs a node until `stop` is set, then drains it."""

    node: Node
    clock: Clock
    stop: Event

    def run(self) -> None:
        timing = self.node.settings.timing
        housekeeping = [
            Step("plan", self.node.plan_once, timing.plan_ms / 1000),
            Step("load", self.node.load_once, timing.plan_ms / 1000),
            Step("sweep", self.node.sweep_once, timing.sweep_ms / 1000),
            Step("tidy", self.node.tidy_once, TIDY_MS / 1000),
            Step("checkpoint", self.node.checkpoint_once, timing.checkpoint_ms / 1000),
        ]
        hot = [Step("tick", self.node.tick_once, 0), Step("dispatch", self.node.dispatch_once, 0)]
        threads = [
            self._thread("beat", [Step("beat", self.node.beat_once, timing.beat_ms / 1000)], HOUSEKEEPING_SECONDS),
            self._thread("hot", hot, TICK_SECONDS),
            self._thread("housekeeping", housekeeping, HOUSEKEEPING_SECONDS),
        ]
        for thread in threads:
            thread.start()
        self.stop.wait()
        for thread in threads:
            thread.join()
        Step("drain", self.node.drain, 0).run_if_due(self.clock)

    def _thread(self, name: str, steps: list[Step], pause_seconds: float) -> Thread:
        def loop() -> None:
            while not self.stop.is_set():
                for step in steps:
                    step.run_if_due(self.clock)
                self.stop.wait(pause_seconds)

        return Thread(target=loop, name=name, daemon=True)
