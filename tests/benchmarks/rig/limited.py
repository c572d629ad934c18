"""Lets a process have a share of a core and no more, as the quota of a container does.

The kernel gives a container its share of each tenth of a second, and stops all its threads for the rest when that is
used up. So does this, by SIGSTOP and SIGCONT, which need neither root nor a control group: what the process has used is
read each millisecond from its own clock. What it took too much, for this thread woke up late, it gets less of
later; what it did not use is gone.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

PERIOD_SECONDS, LOOK_SECONDS = 0.1, 0.001


@contextmanager
def limited(pid: int, share: float) -> Iterator[None]:
    """Until the process has ended, or the caller is done. It must be a child that nobody has waited for yet."""
    is_over = Event()
    thread = Thread(target=_limit, args=(pid, share, is_over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def allowed_until_next(allowed: float, used: float, share: float) -> float:
    """What was taken too much is owed, and what was left is not saved."""
    return min(allowed, used) + share * PERIOD_SECONDS


def _limit(pid: int, share: float, is_over: Event) -> None:
    # Who has ended has no clock.
    with suppress(OSError):
        used = allowed = _used(pid)
        while not is_over.is_set():
            until = time.monotonic() + PERIOD_SECONDS
            allowed = allowed_until_next(allowed, used, share)
            while used < allowed and time.monotonic() < until and not is_over.is_set():
                time.sleep(LOOK_SECONDS)
                used = _used(pid)
            if used >= allowed:
                os.kill(pid, signal.SIGSTOP)
                is_over.wait(max(until - time.monotonic(), 0))
                os.kill(pid, signal.SIGCONT)
                used = _used(pid)


def _used(pid: int) -> float:
    """Seconds of CPU of all its threads, by the clock that `clock_getcpuclockid` names. Raises OSError."""
    return time.clock_gettime(~pid << 3 | 2)
