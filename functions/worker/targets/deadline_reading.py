"""Answers that end at a deadline, however slowly they come: a socket's own time-out starts anew with every byte.

Informational answers before it (103 Early Hints) are read over, all but 101, as RFC 9110, 15.2 asks of every client;
`http.client` knows of 100 alone.
"""

from __future__ import annotations

import socket
from http import HTTPStatus
from http.client import HTTPResponse, parse_headers
from io import BufferedReader, RawIOBase
from typing import Any

from shared.ports import Clock


class DeadlineResponse(HTTPResponse):
    """`until` is in monotonic seconds; reading later raises TimeoutError, as a silent socket does."""

    def __init__(self, sock: socket.socket, *arguments: Any, until: float, clock: Clock, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        assert isinstance(self.fp, BufferedReader)
        self.fp = BufferedReader(_Until(self.fp.detach(), sock, until, clock))

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc] # (not in its stubs)
            status = found[1]
            if status >= HTTPStatus.OK or status == HTTPStatus.SWITCHING_PROTOCOLS:
                return found
            assert self.fp is not None
            parse_headers(self.fp)


class _Until(RawIOBase):
    def __init__(self, raw: RawIOBase, sock: socket.socket, until: float, clock: Clock) -> None:
        self._raw = raw
        self._sock = sock
        self._until = until
        self._clock = clock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._until - self._clock.monotonic()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
