"""Simulated time: tasks of real code take turns, each until its next wait; the seed breaks every tie.

A task is a greenlet, so that code which knows nothing of it can be stopped between any two calls of a port.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING

from greenlet import GreenletExit, getcurrent, greenlet

if TYPE_CHECKING:
    from tests.simulation.hosts import Host


class Killed(GreenletExit):
    """The host of the task is dead: nothing below this point happens any more."""


class Task:
    """One thread of a host."""

    __slots__ = ("glet", "host", "is_done", "is_napping", "name", "turn")

    def __init__(self, host: Host, name: str, run: Callable[[], object], main: greenlet) -> None:
        self.host = host
        self.name = name
        # It ends in the loop of the engine, whichever task started it.
        self.glet = greenlet(run, main)
        self.is_done = False
        self.is_napping = False
        #: Of its next wake-up; an older one in the queue is void.
        self.turn = 0


class Engine:
    def __init__(self, random: Random, start: int) -> None:
        #: True time, ms. No host knows it.
        self.now = start
        self.random = random
        self.current: Task | None = None
        self._main = getcurrent()
        self._queue: list[tuple[int, float, int, Task | Callable[[], object], int]] = []
        self._pushed = 0

    # For the world ---------------------------------------------------------------------------------------------------

    def at(self, moment: int, call: Callable[[], object]) -> None:
        """Call it then, from no host."""
        self._push(moment, call, 0)

    def after(self, duration_ms: float, call: Callable[[], object]) -> None:
        self._push(self.now + int(duration_ms), call, 0)

    def spawn(self, host: Host, name: str, run: Callable[[], object], *, in_ms: int = 0) -> Task:
        task = Task(host, name, run, self._main)
        host.tasks.append(task)
        self._push(self.now + in_ms, task, task.turn)
        return task

    def run_until(self, moment: int) -> None:
        """Let everything happen that is due until then."""
        while self._queue and self._queue[0][0] <= moment:
            due, _, _, what, turn = heapq.heappop(self._queue)
            self.now = max(self.now, due)
            if not isinstance(what, Task):
                what()
            elif turn == what.turn and not what.is_done:
                self._resume(what)
        self.now = max(self.now, moment)

    def warp(self, duration_ms: int) -> None:
        """A stretch in which nothing happens: what was to happen happens as much later."""
        self.now += duration_ms
        self._queue = [(due + duration_ms, tie, number, what, turn) for due, tie, number, what, turn in self._queue]

    def resume_all(self, host: Host) -> None:
        """The host goes on after a pause."""
        for task in host.deferred:
            self._push(self.now, task, task.turn)
        host.deferred.clear()

    def end(self, host: Host) -> None:
        """Let every task of a dead host fall over. Never called by one of them."""
        for task in host.tasks:
            if not task.is_done:
                task.is_done = True
                if task.glet:
                    with self._running(task):
                        task.glet.throw(Killed)
        host.tasks.clear()

    # For tasks -------------------------------------------------------------------------------------------------------

    def sleep(self, duration_ms: float) -> None:
        """Wait, and nobody may cut it short."""
        task = self.current
        assert task is not None
        if not task.host.is_alive:
            raise Killed
        self._wait(task, self.now + int(duration_ms))

    def nap_until(self, moment: int) -> None:
        """Wait until then, or until somebody wakes this task."""
        task = self.current
        assert task is not None
        if not task.host.is_alive:
            raise Killed
        task.is_napping = True
        self._wait(task, max(moment, self.now))
        task.is_napping = False

    def wake(self, task: Task | None) -> None:
        if task is not None and task.is_napping and not task.is_done:
            task.is_napping = False
            task.turn += 1
            self._push(self.now, task, task.turn)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _wait(self, task: Task, moment: int) -> None:
        task.turn += 1
        self._push(moment, task, task.turn)
        self._main.switch()

    def _push(self, moment: int, what: Task | Callable[[], object], turn: int) -> None:
        self._pushed += 1
        heapq.heappush(self._queue, (moment, self.random.random(), self._pushed, what, turn))

    def _resume(self, task: Task) -> None:
        host = task.host
        if not host.is_alive:
            return
        if host.is_paused:
            host.deferred.append(task)
            return
        self.current = task
        task.glet.switch()
        self.current = None
        if task.glet.dead:
            task.is_done = True
            if task in host.tasks:
                host.tasks.remove(task)

    @contextmanager
    def _running(self, task: Task) -> Iterator[None]:
        before, self.current = self.current, task
        try:
            yield
        finally:
            self.current = before
