"""Waiting for the next due run, to the millisecond."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition

from functions.worker.live_runs import LiveRuns
from shared.ports import Clock

#: A condition wakes this much late at worst on a quiet host; the rest is waited for in short sleeps.
_LATE_SECONDS = 0.002
_SHORT_SECONDS = 0.000_2


def wait_until_due(
    condition: Condition,
    runs: LiveRuns,
    clock: Clock,
    *,
    at_most_seconds: float,
    unless: Callable[[], bool] = lambda: False,
) -> None:
    """Until a run is due, `condition` is notified, or the time is up. `condition` is one of those of `runs`.

    `unless` is asked under its lock, so that what is notified just before the wait is not missed.
    """
    with condition:
        if unless():
            return
        seconds = runs.seconds_until_due(clock.now(), clock.monotonic())
        if seconds is None or seconds > _LATE_SECONDS:
            left_seconds = at_most_seconds if seconds is None else min(seconds - _LATE_SECONDS, at_most_seconds)
            condition.wait(timeout=left_seconds)
            return
    if seconds > 0:
        clock.sleep(_SHORT_SECONDS)
