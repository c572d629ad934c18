"""Bytes to and from a receiver, plain or through TLS.

TLS is spoken between two buffers of `ssl`, for asyncio's own gives each connection a quarter of a megabyte.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Protocol

_CHUNK = 16 * 1024


class TlsRefused(Exception):
    """No TLS with this receiver, mostly for a certificate that is not trusted. Nothing was sent."""


class Wire(Protocol):
    async def send(self, data: bytes) -> None:
        """Raises OSError."""
        ...

    async def receive(self) -> bytes:
        """Some bytes; none at the end. Raises OSError."""
        ...


class PlainWire:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self._connection, data)

    async def receive(self) -> bytes:
        return await self._loop.sock_recv(self._connection, _CHUNK)


class TlsWire:
    """After `shake_hands`. One `send` and one `receive` may go on at once."""

    def __init__(self, below: Wire, context: ssl.SSLContext, host: str) -> None:
        self._below = below
        self._host = host
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._flushing = asyncio.Lock()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=host.rstrip("."))

    async def shake_hands(self) -> None:
        """Raises TlsRefused, OSError."""
        try:
            while not await self._step():
                pass
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            # It went away, as it may do without TLS.
            raise ConnectionResetError("closed during the TLS handshake") from error
        except ssl.SSLError as error:
            await self._flush_alert()
            why = getattr(error, "verify_message", None) or error.reason or "no TLS"
            raise TlsRefused(f"{self._host}: {type(error).__name__}: {why}") from error

    async def _step(self) -> bool:
        """Whether the handshake is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            await self._flush()
            await self._fill()
            return False
        await self._flush()
        return True

    async def send(self, data: bytes) -> None:
        self._tls.write(data)
        await self._flush()

    async def receive(self) -> bytes:
        while True:
            try:
                return self._tls.read(_CHUNK)
            except ssl.SSLWantReadError:
                # Reading may have something to say, such as a new key.
                await self._flush()
                await self._fill()
            except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
                # With or without a word: what was cut short is seen by its length.
                return b""

    async def _fill(self) -> None:
        data = await self._below.receive()
        if data:
            self._in.write(data)
        else:
            self._in.write_eof()

    async def _flush(self) -> None:
        if self._out.pending:
            async with self._flushing:
                await self._below.send(self._out.read())

    async def _flush_alert(self) -> None:
        """So that its own log says why."""
        try:
            await self._flush()
        except OSError:
            return
