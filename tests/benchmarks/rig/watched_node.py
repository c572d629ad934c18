"""A node that knows when each of its steps had a turn, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from functions.scheduler.node import Node

#: The step by which each loop is known, and those that go on in slices.
LOOPS = {"beat": "beat_once", "hot": "tick_once", "housekeeping": "plan_once"}
SLICED = ("load_once", "sweep_once", "look_ahead_once")


class WatchedNode(Node):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        #: By step: when it began, and the CPU seconds of its own thread.
        self.turns: dict[str, list[tuple[float, float]]] = {}
        for step in (*LOOPS.values(), *SLICED):
            setattr(self, step, self._watched(step, getattr(self, step)))

    def _watched(self, step: str, run: Callable[[], Any]) -> Callable[[], Any]:
        turns = self.turns.setdefault(step, [])

        def watched() -> Any:
            began, cpu = time.monotonic(), time.thread_time()
            try:
                return run()
            finally:
                turns.append((began, time.thread_time() - cpu))

        return watched

    def forget_turns(self) -> None:
        for turns in self.turns.values():
            turns.clear()

    def loop_times(self) -> dict[str, float]:
        """The longest time from one turn of each loop to its next, and the longest slice, since they were forgotten."""
        # Read while the loops go on.
        turns = {step: list(each) for step, each in self.turns.items()}
        pauses = {
            f"{loop}_pause_ms": max((later - began for (began, _), (later, _) in pairwise(turns[step])), default=0.0)
            for loop, step in LOOPS.items()
        }
        slices = [cpu for step in SLICED for _, cpu in turns[step]]
        return {name: seconds * 1e3 for name, seconds in {**pauses, "slice_ms": max(slices, default=0.0)}.items()}
