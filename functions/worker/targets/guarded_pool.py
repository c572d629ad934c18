"""Connections that check the very address their socket connects to, each time they connect (B65).

The host is resolved once, every address it has is judged, and the socket is given one of those addresses: a name
that answers differently a moment later gains nothing, and neither does an odd spelling of an address.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError

from functions.worker.targets.deadline_reading import DeadlineResponse
from shared.domain.addresses import HostPort, is_internal, refusal_of
from shared.ports import Clock

#: Hosts called at once whose connections are kept.
_KEPT_HOSTS = 64
#: Addresses of a host that are tried, within the one connect time-out of a request: whoever owns a name may give it
#: thousands that do not answer.
_MOST_TRIED = 4


class RefusedAddress(Exception):
    """A target led to an address that webhooks must not reach."""

    def __init__(self, host: str, reason: str) -> None:
        self.host = host
        self.reason = reason
        super().__init__(f"{host} leads to an address that is refused: {reason}")


def guarded_pool_manager(*, internal: frozenset[HostPort], connections_per_host: int, clock: Clock) -> PoolManager:
    """A pool manager that reaches public addresses, and `internal` as spelled there. Time-outs bound whole answers."""
    guard = _Guard(internal, clock)

    class HttpConnection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return guard.connect(self, super()._new_conn)

        def getresponse(self) -> HTTPResponse:  # type: ignore[override] # (urllib3 overrides it so)
            return guard.answer(self, super().getresponse)

    class HttpsConnection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return guard.connect(self, super()._new_conn)

        def getresponse(self) -> HTTPResponse:  # type: ignore[override] # (urllib3 overrides it so)
            return guard.answer(self, super().getresponse)

    class HttpPool(_UsedOnce, HTTPConnectionPool):
        ConnectionCls = HttpConnection

    class HttpsPool(_UsedOnce, HTTPSConnectionPool):
        ConnectionCls = HttpsConnection

    manager = PoolManager(num_pools=_KEPT_HOSTS, maxsize=connections_per_host)
    manager.pool_classes_by_scheme = {"http": HttpPool, "https": HttpsPool}
    return manager


class _UsedOnce(HTTPConnectionPool):
    """What a receiver sends late, or too much of, is read by nobody."""

    def _put_conn(self, conn: Any) -> None:
        if conn is not None:
            conn.close()
        super()._put_conn(conn)


class _Guard:
    """What both kinds of connection do around urllib3's own connecting and answering."""

    def __init__(self, internal: frozenset[HostPort], clock: Clock) -> None:
        self._internal = internal
        self._clock = clock

    def connect(self, connection: HTTPConnection, connect: Callable[[], socket.socket]) -> socket.socket:
        name = connection._dns_host  # noqa: SLF001 (what urllib3 connects to, apart from what it verifies and sends)
        seconds = connection.timeout
        until = None if seconds is None else self._clock.monotonic() + seconds
        try:
            *others, last = self._addresses(connection)[:_MOST_TRIED]
            for tried, address in enumerate(others):
                self._limit(connection, until, addresses=len(others) + 1 - tried)
                connection._dns_host = address  # noqa: SLF001
                try:
                    return connect()
                except (NewConnectionError, ConnectTimeoutError):
                    continue
            self._limit(connection, until, addresses=1)
            connection._dns_host = last  # noqa: SLF001
            return connect()
        finally:
            # TLS verifies the name, and the Host header says it.
            connection._dns_host = name  # noqa: SLF001
            connection.timeout = seconds

    def _limit(self, connection: HTTPConnection, until: float | None, *, addresses: int) -> None:
        """Give the next address its share of the time that is left. Raises ConnectTimeoutError."""
        if until is None:
            return
        left = until - self._clock.monotonic()
        if left <= 0:
            raise ConnectTimeoutError(connection, f"{connection.host} was not reached in time")
        connection.timeout = left / addresses

    def answer(self, connection: HTTPConnection, answer: Callable[[], HTTPResponse]) -> HTTPResponse:
        if connection.timeout is not None:
            until = self._clock.monotonic() + connection.timeout
            connection.response_class = partial(DeadlineResponse, until=until, clock=self._clock)  # type: ignore[assignment]
        return answer()

    def _addresses(self, connection: HTTPConnection) -> list[str]:
        """Of the connection's host, none of them refused. Raises RefusedAddress, NameResolutionError."""
        host, port = connection.host, connection.port
        try:
            found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NameResolutionError(host, connection, error) from error
        except UnicodeError as error:
            raise RefusedAddress(host, "this is no name of a host") from error
        addresses = list(dict.fromkeys(str(answer[4][0]) for answer in found))
        if not is_internal(self._internal, host, port):
            for address in addresses:
                if reason := refusal_of(address):
                    raise RefusedAddress(host, reason)
        return addresses
