"""The HTTP client of webhooks: asyncio's sockets, h11, and no connection used twice.

A connection of its own for each request makes three promises hold by construction: nothing that a receiver sends late,
or too much of, reaches another run; owners share nothing; and nothing is ever sent twice by itself. It costs a
handshake, about a quarter of a millisecond of CPU, or one and a quarter with TLS.
"""

from __future__ import annotations

import asyncio
import ssl
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from functions.worker.targets.guard import Guard, NotConnected
from functions.worker.targets.http_exchange import Answer, Request, exchange
from functions.worker.targets.loop_thread import LoopThread
from functions.worker.targets.wires import PlainWire, TlsWire, Wire
from shared.ports import Clock

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Origin:
    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """As the Host header says it: a scheme's own port is left out."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def origin_of(url: str) -> Origin:
    parts = urlsplit(url)
    return Origin(parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme])


def target_of(url: str) -> str:
    """Path and query, byte for byte as they are in the URL: others may have signed them."""
    start = url.index("://") + len("://")
    end = min((at for at in (url.find("/", start), url.find("?", start)) if at >= 0), default=len(url))
    rest = url[end:].partition("#")[0]
    return rest if rest.startswith("/") else f"/{rest}"


@cache
def _trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class HttpClient:
    def __init__(
        self, guard: Guard, clock: Clock, *, loop: LoopThread | None = None, trust: ssl.SSLContext | None = None
    ) -> None:
        self._guard = guard
        self._clock = clock
        self._loop = loop or LoopThread()
        self._trust = trust

    def send(self, origin: Origin, request: Request, *, seconds: float, connect_seconds: float) -> Future[Answer]:
        """Sent once. The future ends within `seconds`, and holds no thread until then.

        Its exceptions: RefusedAddress, NotConnected, TlsRefused, NoAnswer, AnsweredLate.
        """
        return self._loop.run(self._send(origin, request, seconds, min(connect_seconds, seconds)))

    async def _send(self, origin: Origin, request: Request, seconds: float, connect_seconds: float) -> Answer:
        until = asyncio.get_running_loop().time() + seconds
        connect_until = self._clock.monotonic() + connect_seconds
        connection = await self._guard.connect(origin.host, origin.port, until=connect_until)
        with connection:
            wire: Wire = PlainWire(connection)
            if origin.scheme == "https":
                wire = await self._with_tls(wire, origin.host, connect_until)
            return await exchange(wire, request, until=until)

    async def _with_tls(self, wire: Wire, host: str, until: float) -> TlsWire:
        tls = TlsWire(wire, self._trust or _trust(), host)
        try:
            async with asyncio.timeout(until - self._clock.monotonic()):
                await tls.shake_hands()
        except OSError as error:
            raise NotConnected(f"{host}: {type(error).__name__} during the TLS handshake") from error
        return tls
