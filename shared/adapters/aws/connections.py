"""Kept connections to one host, over the standard library's client: half the CPU of a request of botocore's.

They fail as botocore's do. A connection that the host has closed meanwhile is noticed before it is used.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    #: By lower-case names.
    headers: Mapping[str, str]
    content: bytes


class Connections:
    """Threads may share it: each request has a connection to itself. `ca_file` holds the certificates to trust."""

    def __init__(
        self, endpoint_url: str, *, connect_timeout_seconds: float, read_timeout_seconds: float, ca_file: str | None
    ) -> None:
        parts = urlsplit(endpoint_url)
        self.host = parts.netloc
        self._url = endpoint_url
        self._name, self._port = parts.hostname or "", parts.port
        self._connect_timeout_seconds = connect_timeout_seconds
        self._read_timeout_seconds = read_timeout_seconds
        self._tls = ssl.create_default_context(cafile=ca_file) if parts.scheme == "https" else None
        #: The one used last is the least likely to be closed.
        self._idle: deque[HTTPConnection] = deque()

    def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """To `/`. Raises ConnectTimeoutError, EndpointConnectionError, SSLError when nothing was sent;
        ReadTimeoutError, ConnectionClosedError when it may have been.
        """
        connection = self._take() or self._connect()
        try:
            connection.request("POST", "/", body, headers)
            response = connection.getresponse()
            known = {name.lower(): value for name, value in response.headers.items()}
            answer = Answer(response.status, known, response.read())
        except BaseException as error:
            connection.close()
            if isinstance(error, TimeoutError):
                raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
            if isinstance(error, (OSError, HTTPException)):
                raise ConnectionClosedError(endpoint_url=self._url, error=error) from error
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    def close(self) -> None:
        """Those that nobody uses."""
        while (connection := self._take()) is not None:
            connection.close()

    def _take(self) -> HTTPConnection | None:
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:
                # Another thread was quicker.
                return None
            if not _is_dropped(connection):
                return connection
            connection.close()
        return None

    def _connect(self) -> HTTPConnection:
        seconds = self._connect_timeout_seconds
        if self._tls is None:
            connection = HTTPConnection(self._name, self._port, timeout=seconds)
        else:
            connection = HTTPSConnection(self._name, self._port, timeout=seconds, context=self._tls)
        try:
            connection.connect()
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        except ssl.SSLError as error:
            raise SSLError(endpoint_url=self._url, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self._url, error=error) from error
        connection.sock.settimeout(self._read_timeout_seconds)
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection


def _is_dropped(connection: HTTPConnection) -> bool:
    """Nothing is asked, so whatever could be read now is the end."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))
