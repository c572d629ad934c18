"""Connections that check the very address their socket connects to, each time they connect.

The host is resolved once, every address it has is judged, and the socket is given one of those addresses: a name
that answers differently a moment later gains nothing, and neither does an odd spelling of an address.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

from functions.worker.targets.names import Addresses, Names, SocketAddress
from shared.domain.addresses import HostPort, is_internal, refusal_of
from shared.ports import Clock

#: Addresses of a host that are tried, within the one connect time-out of a request: whoever owns a name may give it
#: thousands that do not answer.
_MOST_TRIED = 4
#: A receiver may work for hours before it answers; gateways forget a connection on which nothing moves for minutes.
_KEEP_ALIVE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 30,
    "TCP_KEEPCNT": 6,
}

Resolve = Callable[[str, int], Awaitable[Addresses]]
#: In these seconds, or it raises OSError.
Connect = Callable[[socket.AddressFamily, SocketAddress, float], Awaitable[socket.socket]]


class RefusedAddress(Exception):
    """A target led to an address that webhooks must not reach."""

    def __init__(self, host: str, reason: str) -> None:
        self.host = host
        self.reason = reason
        super().__init__(f"{host} leads to an address that is refused: {reason}")


class NotConnected(Exception):
    """Nothing was sent."""


async def connected(family: socket.AddressFamily, address: SocketAddress, seconds: float) -> socket.socket:
    """Raises OSError."""
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setblocking(False)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEP_ALIVE.items():
            if (number := getattr(socket, option, None)) is not None:
                found.setsockopt(socket.IPPROTO_TCP, number, value)
        async with asyncio.timeout(seconds):
            await asyncio.get_running_loop().sock_connect(found, address)
    except BaseException:
        found.close()
        raise
    return found


class Guard:
    """Reaches public addresses, and `internal` as spelled there."""

    def __init__(
        self,
        internal: frozenset[HostPort],
        clock: Clock,
        *,
        resolve: Resolve | None = None,
        connect: Connect = connected,
    ) -> None:
        self._internal = internal
        self._clock = clock
        self._resolve = resolve or Names().addresses
        self._connect = connect

    async def connect(self, host: str, port: int, *, until: float) -> socket.socket:
        """`until` is in monotonic seconds. Raises RefusedAddress, NotConnected."""
        addresses = (await self._addresses(host, port, until))[:_MOST_TRIED]
        for tried, (family, address) in enumerate(addresses):
            # Each gets its share of the time that is left.
            seconds = self._left(host, until) / (len(addresses) - tried)
            try:
                return await self._connect(family, address, seconds)
            except OSError as error:
                fault: OSError = error
        raise NotConnected(f"{host}: {type(fault).__name__}") from fault

    async def _addresses(self, host: str, port: int, until: float) -> Addresses:
        """None of them refused."""
        try:
            async with asyncio.timeout(self._left(host, until)):
                found = await self._resolve(host, port)
        except OSError as error:
            raise NotConnected(f"{host}: {type(error).__name__}") from error
        except UnicodeError as error:
            raise RefusedAddress(host, "this is no name of a host") from error
        if not found:
            raise NotConnected(f"{host} has no address")
        if not is_internal(self._internal, host, port):
            for _, address in found:
                if reason := refusal_of(address[0]):
                    raise RefusedAddress(host, reason)
        return found

    def _left(self, host: str, until: float) -> float:
        left = until - self._clock.monotonic()
        if left <= 0:
            raise NotConnected(f"{host} was not reached in time")
        return left
