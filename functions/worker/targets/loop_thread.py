"""One event loop on a thread of its own: what waits for a receiver waits there, and holds no thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Started when first needed. A daemon, for a receiver that never answers must not keep the process alive.

    A Lambda function is frozen between its invocations, and the loop with it. Its timers go by a clock that does not
    stop: what was due meanwhile ends at once afterwards, and new calls count from their own start.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begin it; the future may be waited for from any thread, and cancelled."""
        try:
            loop = self._running()
        except BaseException:
            coroutine.close()
            raise
        return asyncio.run_coroutine_threadsafe(coroutine, loop)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                try:
                    Thread(target=loop.run_forever, name="webhooks", daemon=True).start()
                except BaseException:
                    # No thread could be started just now; the next call tries again.
                    loop.close()
                    raise
                self._loop = loop
            return self._loop
