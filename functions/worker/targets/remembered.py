"""What was read a moment ago, so that it is not read for every run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from shared.ports import Clock

K = TypeVar("K")
V = TypeVar("V")

_KEPT = 1_024


class Remembered(Generic[K, V]):
    """The answers of `load`, each for `seconds`. What `load` raises is raised, and not remembered."""

    def __init__(self, load: Callable[[K], V], clock: Clock, *, seconds: float) -> None:
        self._load = load
        self._clock = clock
        self._seconds = seconds
        self._lock = Lock()
        self._found: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def __call__(self, key: K) -> V:
        with self._lock:
            until, value = self._found.get(key, (None, None))
            if until is not None and value is not None and self._clock.monotonic() < until:
                return value
        # From before the read: what is remembered is never older than it says.
        until = self._clock.monotonic() + self._seconds
        value = self._load(key)
        with self._lock:
            self._found[key] = (until, value)
            self._found.move_to_end(key)
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        with self._lock:
            self._found.pop(key, None)
