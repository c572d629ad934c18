"""The addresses of a host. Resolvers block, some for half a minute, and cannot be cancelled: they have threads of
their own, and all who ask for one name at the same time wait for one of them.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread

#: As `socket.connect` takes it, whose first item is the address as a text.
SocketAddress = tuple[str, int] | tuple[str, int, int, int]
Addresses = Sequence[tuple[socket.AddressFamily, SocketAddress]]
_Answer = Future[Addresses]

_THREADS = 32


def _literal(host: str, port: int) -> Addresses:
    """Of a host that is an address, as it is spelled usually."""
    for family, address in ((socket.AF_INET, (host, port)), (socket.AF_INET6, (host, port, 0, 0))):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return [(family, address)]
    return []


class Names:
    def __init__(self, threads: int = _THREADS) -> None:
        self._most_threads = threads
        self._lock = Lock()
        self._threads = 0
        #: Threads that wait, less what waits for a thread.
        self._free = 0
        self._work: SimpleQueue[tuple[Callable[[], Addresses], _Answer]] = SimpleQueue()
        self._asked: dict[tuple[str, int], _Answer] = {}

    async def addresses(self, host: str, port: int) -> Addresses:
        """Raises OSError, and UnicodeError for what cannot be a name."""
        if literal := _literal(host, port):
            return literal
        # Shielded: whoever gives up waiting does not give up for the others.
        return await asyncio.shield(asyncio.wrap_future(self._ask(host, port)))

    def _ask(self, host: str, port: int) -> _Answer:
        with self._lock:
            found = self._asked.get((host, port))
            if found is not None:
                return found
            answer = self._asked[host, port] = _Answer()
            try:
                self._make_room()
            except BaseException:
                del self._asked[host, port]
                raise
            self._work.put((lambda: self._resolve(host, port), answer))
            return answer

    def _make_room(self) -> None:
        if self._free <= 0 and self._threads < self._most_threads:
            Thread(target=self._serve, name="names", daemon=True).start()
            self._threads += 1
        else:
            self._free -= 1

    def _serve(self) -> None:
        while True:
            resolve, answer = self._work.get()
            try:
                answer.set_result(resolve())
            except BaseException as error:  # noqa: BLE001 (whoever asked is told, whatever it is)
                answer.set_exception(error)
            with self._lock:
                self._free += 1

    def _resolve(self, host: str, port: int) -> Addresses:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        finally:
            with self._lock:
                del self._asked[host, port]
        return list(
            dict.fromkeys((family, address) for family, _, _, _, address in found if isinstance(address[0], str))
        )
