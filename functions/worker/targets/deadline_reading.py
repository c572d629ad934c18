"""Answers that end at a deadline, however slowly they come: a socket's own time-out starts anew with every byte."""

from __future__ import annotations

import socket
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from typing import Any

from shared.ports import Clock


class DeadlineResponse(HTTPResponse):
    """`until` is in monotonic seconds; reading later raises TimeoutError, as a silent socket does."""

    def __init__(self, sock: socket.socket, *arguments: Any, until: float, clock: Clock, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        assert isinstance(self.fp, BufferedReader)
        self.fp = BufferedReader(_Until(self.fp.detach(), sock, until, clock))


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
