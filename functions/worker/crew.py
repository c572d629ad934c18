"""Threads that work for the runs of a lane: a fixed number, and a spare for each that a timed-out handler keeps."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread

from functions.worker.live_run import LiveRun
from shared.observability.logs import logger_for

_logger = logger_for("worker")

#: Of a lane that has no thread at all one is tried each second: after so long the process is better replaced.
_MOST_FAILED_STARTS = 30

Act = Callable[[], None]


class Crew:
    """Started when first needed. They are daemons: a handler that never returns must not keep the process alive."""

    def __init__(self, name: str, *, count: int, spare: int) -> None:
        self._name = name
        self._count = count
        self._spare = spare
        self._work: SimpleQueue[tuple[LiveRun, Act] | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle = 0
        #: Submitted, and not yet seen off by a thread. The queue's own size forgets what a thread has just taken, while
        #: that thread still counts as idle: the next run would then wait behind it.
        self._waiting = 0
        #: Starts of a thread that failed since the last that did not: the host has no memory, or no thread to give.
        self._failed_starts = 0
        self._running: set[LiveRun] = set()
        self._abandoned: set[LiveRun] = set()
        self._is_closed = False

    @property
    def usable(self) -> int:
        """Threads that can take work: fewer than `count` once more handlers are stuck than there are spares, or while
        the host gives no more threads.
        """
        with self._lock:
            if self._failed_starts:
                return max(self._threads - len(self._abandoned), 0)
            return self._count - max(len(self._abandoned) - self._spare, 0)

    @property
    def is_stuck(self) -> bool:
        """No thread can take work, and none will: handlers have taken them all, or the host gives none for long."""
        is_without = self.usable <= 0
        with self._lock:
            return is_without and not 0 < self._failed_starts < _MOST_FAILED_STARTS

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def submit(self, live: LiveRun, act: Act) -> bool:
        """False: no thread can be started for it, or all are told to end, and it is not taken."""
        with self._lock:
            if self._is_closed:
                return False
            if self._idle <= self._waiting and not self._start_one():
                return False
            self._work.put((live, act))
            self._waiting += 1
            return True

    def revive(self) -> None:
        """Try again to start a thread, if the last one did not; to be called now and then."""
        with self._lock:
            if self._failed_starts:
                self._start_one()

    def abandon(self, live: LiveRun) -> None:
        """The run has ended without its thread; another thread takes its place while there are spares."""
        with self._lock:
            if live not in self._running:
                return
            self._abandoned.add(live)
            if self._waiting:
                self._start_one()

    def close(self) -> None:
        """Let each thread end when it is done with what it has."""
        with self._lock:
            self._is_closed = True
            for _ in range(self._threads):
                self._work.put(None)

    def _start_one(self) -> bool:
        """If there may be one more; False: it did not start."""
        if self._threads >= self._count + min(len(self._abandoned), self._spare):
            return True
        try:
            Thread(target=self._serve, name=self._name, daemon=True).start()
        except Exception as error:  # noqa: BLE001 (RuntimeError or MemoryError; whatever it is, the lane goes on)
            if not self._failed_starts:
                _logger.error(  # noqa: TRY400 (the place is known, and the reason is the host's)
                    "no thread could be started; the run is handed back",
                    extra={"action": "worker.threads", "threads": self._threads, "error": str(error)},
                )
            self._failed_starts += 1
            return False
        if self._failed_starts:
            _logger.info(
                "threads can be started again",
                extra={"action": "worker.threads", "failures": self._failed_starts},
            )
        self._failed_starts = 0
        self._threads += 1
        return True

    def _serve(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            work = self._work.get()
            with self._lock:
                self._idle -= 1
                if work is None:
                    self._threads -= 1
                    return
                live, act = work
                self._waiting -= 1
                self._running.add(live)
            try:
                act()
            except BaseException:
                _logger.exception("an execution broke", extra={"action": "run.execute", "run": live.run.key})
            finally:
                is_surplus = self._is_surplus_after(live)
            if is_surplus:
                return

    def _is_surplus_after(self, live: LiveRun) -> bool:
        with self._lock:
            self._running.discard(live)
            self._abandoned.discard(live)
            is_surplus = self._threads > self._count + min(len(self._abandoned), self._spare)
            self._threads -= is_surplus
            return is_surplus
