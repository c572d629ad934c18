"""Threads, locks and queues for real code in a simulated world: a thread is a task of its host, and waits so."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Self

from shared.domain.instants import SECOND
from tests.simulation.engine import Engine, Task

_FOR_EVER = 10**15
#: The world that runs: one at a time in a process.
ENGINES: list[Engine] = []
#: Told of what no thread caught.
CRASHED: list[Callable[[Exception], None]] = []


class CannotStart(RuntimeError):
    """As Python raises where the system has no more threads."""


def running_engine() -> Engine:
    return ENGINES[-1]


def current_task() -> Task | None:
    return running_engine().current


class Waiting:
    """Tasks that wait for something, first come first served."""

    def __init__(self) -> None:
        self._tasks: dict[Task, None] = {}

    def wait(self, timeout: float | None) -> None:
        """Until woken, or until the time is up."""
        engine, me = running_engine(), current_task()
        assert me is not None, "only a thread of a host waits"
        until = _FOR_EVER if timeout is None else engine.now - int(-max(timeout, 0.0) * SECOND // 1)
        self._tasks[me] = None
        try:
            engine.nap_until(until)
        finally:
            self._tasks.pop(me, None)

    def wake(self, count: int | None = None) -> None:
        for task in list(self._tasks)[:count]:
            del self._tasks[task]
            running_engine().wake(task)


def _time_left(until: float | None) -> float | None:
    return None if until is None else max(until - running_engine().now / SECOND, 0.0)


def _until(timeout: float | None) -> float | None:
    return None if timeout is None else running_engine().now / SECOND + timeout


class SimulatedLock:
    """Who looks from outside of the world takes no lock: nothing happens meanwhile."""

    def __init__(self) -> None:
        self._holder: Task | None = None
        self._waiting = Waiting()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = current_task()
        if me is None:
            return True
        while self._holder is not None:
            assert self._holder is not me, "this thread holds the lock already"
            if not blocking:
                return False
            self._waiting.wait(None if timeout < 0 else timeout)
        self._holder = me
        return True

    def release(self) -> None:
        self._holder = None
        self._waiting.wake(1)

    def take_back(self) -> None:
        """Of a thread that ends in its wait: its `with` releases the lock once more."""
        self._holder = current_task()

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class SimulatedCondition:
    def __init__(self, lock: Any = None) -> None:
        self._lock = SimulatedLock() if lock is None else lock
        self._waiting = Waiting()

    def __enter__(self) -> Self:
        self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        self._lock.release()
        try:
            self._waiting.wait(timeout)
        except BaseException:
            self._lock.take_back()
            raise
        self._lock.acquire()
        return True

    def wait_for(self, predicate: Callable[[], object], timeout: float | None = None) -> bool:
        until = _until(timeout)
        while not predicate():
            left = _time_left(until)
            if left is not None and left <= 0:
                return bool(predicate())
            self.wait(left)
        return True

    def notify(self, n: int = 1) -> None:
        self._waiting.wake(n)

    def notify_all(self) -> None:
        self._waiting.wake()


class SimulatedEvent:
    def __init__(self) -> None:
        self._is_set = False
        self._waiting = Waiting()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._waiting.wake()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        if not self._is_set:
            self._waiting.wait(timeout)
        return self._is_set


class SimulatedQueue:
    def __init__(self) -> None:
        self._items: list[Any] = []
        self._waiting = Waiting()

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._waiting.wake(1)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        until = _until(timeout)
        while not self._items:
            left = _time_left(until)
            if not block or (left is not None and left <= 0):
                raise queue.Empty
            self._waiting.wait(left)
        return self._items.pop(0)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        return not self._items

    def qsize(self) -> int:
        return len(self._items)


class SimulatedThread:
    def __init__(
        self,
        target: Callable[..., object],
        args: Iterable[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str = "thread",
        *,
        daemon: bool | None = None,
    ) -> None:
        del daemon
        self.name = name
        self._call: Callable[[], object] = partial(target, *args, **(kwargs or {}))
        self._waiting = Waiting()
        self._is_alive = False

    def start(self) -> None:
        me = current_task()
        assert me is not None, "only a thread of a host starts another"
        if me.host.lacks_threads():
            raise CannotStart("can't start new thread")
        self._is_alive = True
        running_engine().spawn(me.host, self.name, self._run)

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:  # noqa: BLE001 (nobody else would hear of it)
            CRASHED[-1](error)
        finally:
            self._is_alive = False
            self._waiting.wake()

    def is_alive(self) -> bool:
        return self._is_alive

    def join(self, timeout: float | None = None) -> None:
        until = _until(timeout)
        while self._is_alive:
            left = _time_left(until)
            if left is not None and left <= 0:
                return
            self._waiting.wait(left)
