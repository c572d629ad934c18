"""What stands in for the threads of the standard library in the product's modules, while a world runs."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from tests.simulation.engine import Engine
from tests.simulation.threads import (
    CRASHED,
    ENGINES,
    SimulatedCondition,
    SimulatedEvent,
    SimulatedLock,
    SimulatedQueue,
    SimulatedThread,
    Waiting,
    current_task,
    running_engine,
)

T = TypeVar("T")
R = TypeVar("R")


class _Future:
    """`answer` is a pair: the fault, or None, and the result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self.answer: tuple[Exception | None, Any] | None = None
        self.has_begun = False
        self._waiting = Waiting()

    def run(self) -> None:
        self.has_begun = True
        try:
            self.answer = None, self._call()
        except Exception as error:  # noqa: BLE001 (handed to whoever asks)
            self.answer = error, None
        self._waiting.wake()

    def result(self, timeout: float | None = None) -> Any:
        del timeout
        while self.answer is None:
            self._waiting.wait(None)
        error, result = self.answer
        if error is not None:
            raise error
        return result

    def exception(self, timeout: float | None = None) -> Exception | None:
        del timeout
        while self.answer is None:
            self._waiting.wait(None)
        return self.answer[0]


class SimulatedPool:
    """As `ThreadPoolExecutor`: who stops to ask for answers, as at the first fault, calls off what has not begun."""

    def __init__(self, max_workers: int, thread_name_prefix: str = "pool") -> None:
        self._most = max_workers
        self._name = thread_name_prefix
        self._pending: list[_Future] = []
        self._busy = 0

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> _Future:
        future = _Future(lambda: call(*args, **kwargs))
        self._pending.append(future)
        if self._busy < self._most:
            self._busy += 1
            me = current_task()
            assert me is not None
            running_engine().spawn(me.host, self._name, self._serve)
        return future

    def _serve(self) -> None:
        while self._pending:
            self._pending.pop(0).run()
            # Whoever waits for the answer may be faster than this thread with what is next.
            running_engine().sleep(0)
        self._busy -= 1

    def map(self, call: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        futures = [self.submit(call, item) for item in items]

        def answers() -> Iterator[R]:
            try:
                for future in futures:
                    yield future.result()
            finally:
                for future in futures:
                    if not future.has_begun and future in self._pending:
                        self._pending.remove(future)

        return answers()


_INSTEAD: dict[Any, Any] = {
    threading.Lock: SimulatedLock,
    threading.Condition: SimulatedCondition,
    threading.Event: SimulatedEvent,
    threading.Thread: SimulatedThread,
    queue.SimpleQueue: SimulatedQueue,
    ThreadPoolExecutor: SimulatedPool,
}
_NAMES = ("Lock", "Condition", "Event", "Thread", "SimpleQueue", "ThreadPoolExecutor")


@contextmanager
def simulated(engine: Engine, crashed: Callable[[Exception], None]) -> Iterator[None]:
    """Threads of nodes and workers belong to this engine; `crashed` hears what no thread caught."""
    changed: list[tuple[Any, str, Any]] = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("functions.worker", "functions.scheduler", "functions.dead_letters")):
            for word in _NAMES:
                real = vars(module).get(word)
                if real is not None and real in _INSTEAD:
                    changed.append((module, word, real))
                    setattr(module, word, _INSTEAD[real])
    ENGINES.append(engine)
    CRASHED.append(crashed)
    try:
        yield
    finally:
        ENGINES.pop()
        CRASHED.pop()
        for module, word, real in changed:
            setattr(module, word, real)
