"""What others keep timers in: a heap, a calendar, an event loop. All as fast as they are known to be in Python."""

from __future__ import annotations

import asyncio
import heapq
from typing import Any, cast


class Heap:
    """`heapq` with lazy deletion: a cancelled timer stays in the heap until its time comes."""

    def __init__(self) -> None:
        self._due: dict[str, int] = {}
        self._heap: list[tuple[int, str]] = []

    def schedule(self, key: str, due_ms: int) -> None:
        self._due[key] = due_ms
        heapq.heappush(self._heap, (due_ms, key))

    def cancel(self, key: str) -> bool:
        return self._due.pop(key, None) is not None

    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]:
        expired: list[tuple[str, int]] = []
        while self._heap and self._heap[0][0] <= now_ms and len(expired) < limit:
            due_ms, key = heapq.heappop(self._heap)
            if self._due.get(key) == due_ms:
                del self._due[key]
                expired.append((key, due_ms))
        return expired


class Calendar:
    """A dict for each tick, all ticks in one dict. Walks every tick; is never early because it is a tick late."""

    def __init__(self, *, tick_ms: int, start_ms: int) -> None:
        self._tick_ms = tick_ms
        self._due: dict[str, int] = {}
        self._ticks: dict[int, dict[str, int]] = {}
        self._next = start_ms // tick_ms

    def schedule(self, key: str, due_ms: int) -> None:
        old_ms = self._due.get(key)
        if old_ms is not None:
            self._remove(key, old_ms)
        self._due[key] = due_ms
        self._ticks.setdefault(due_ms // self._tick_ms, {})[key] = due_ms

    def cancel(self, key: str) -> bool:
        due_ms = self._due.pop(key, None)
        if due_ms is not None:
            self._remove(key, due_ms)
        return due_ms is not None

    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]:
        expired: list[tuple[str, int]] = []
        while self._next < now_ms // self._tick_ms:
            bucket = self._ticks.get(self._next)
            while bucket and len(expired) < limit:
                expired.append(bucket.popitem())
            if bucket:
                break
            self._ticks.pop(self._next, None)
            self._next += 1
        for key, _ in expired:
            del self._due[key]
        return expired

    def _remove(self, key: str, due_ms: int) -> None:
        bucket = self._ticks[due_ms // self._tick_ms]
        del bucket[key]
        if not bucket:
            del self._ticks[due_ms // self._tick_ms]


class _Loop(asyncio.SelectorEventLoop):
    """The stock loop over a simulated clock, in milliseconds."""

    now_ms = 0

    def time(self) -> float:
        return self.now_ms

    def turn(self) -> None:
        """One turn of the loop, without waiting."""
        inside = cast("Any", self)
        inside._stopping = True
        inside._run_once()


class AsyncioTimers:
    """`loop.call_later`. The loop knows no limit: it calls all that is due in one turn."""

    def __init__(self, *, start_ms: int) -> None:
        self._loop = _Loop()
        self._loop.now_ms = start_ms
        self._handles: dict[str, asyncio.TimerHandle] = {}
        self._expired: list[tuple[str, int]] = []

    def schedule(self, key: str, due_ms: int) -> None:
        handle = self._handles.get(key)
        if handle is not None:
            handle.cancel()
        self._handles[key] = self._loop.call_later(due_ms - self._loop.now_ms, self._fire, key, due_ms)

    def cancel(self, key: str) -> bool:
        handle = self._handles.pop(key, None)
        if handle is None:
            return False
        handle.cancel()
        return True

    def expire(self, now_ms: int, *, limit: int) -> list[tuple[str, int]]:  # noqa: ARG002 - the loop has none
        self._loop.now_ms = now_ms
        # A turn moves what is due to the ready ones and calls those.
        self._loop.turn()
        expired, self._expired = self._expired, []
        return expired

    def _fire(self, key: str, due_ms: int) -> None:
        del self._handles[key]
        self._expired.append((key, due_ms))
