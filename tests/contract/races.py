from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")

RACERS = 16


def race(act: Callable[[int], T]) -> list[T]:
    """The answers of 16 threads that all call `act` with their number at once."""
    start = Barrier(RACERS)

    def run(number: int) -> T:
        start.wait(timeout=30)
        return act(number)

    with ThreadPoolExecutor(RACERS) as threads:
        return list(threads.map(run, range(RACERS)))
