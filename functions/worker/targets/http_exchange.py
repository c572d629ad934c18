"""One request and its answer, over one wire that serves no other: HTTP/1.1, read by h11.

An informational answer (1xx, but for 101) is read over, as RFC 9110, 15.2 asks of every client. The first final status
is the answer. It stands from then on, whatever follows it: headers that nobody can read, a body that breaks off, is
too long, or comes too slowly. Only an answer whose connection breaks within its head is none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus

import h11

from functions.worker.targets.http_body import StartOfBody
from functions.worker.targets.wires import Wire

#: Of status line and headers together; browsers take as much.
MAX_HEAD_BYTES = 256 * 1024
#: Reading a head takes h11 microseconds a line, and meanwhile no other receiver is heard. Real ones send some hundred.
MAX_HEAD_LINES = 2_000
_BLANK_LINE = re.compile(rb"\n\r?\n")
#: Of a chunk's size, or of trailers.
_MOST_BETWEEN_CHUNKS = 16 * 1024
_MOST_INFORMATIONAL = 100
_STATUS = re.compile(rb"HTTP/\d\.\d ([1-9]\d\d)[ \t\r\n]")
_START_BYTES = 16

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    #: By their names in lower case.
    headers: Sequence[tuple[bytes, bytes]] = ()
    text: str | None = None

    def header(self, name: bytes) -> bytes | None:
        """The first of this name."""
        return next((value for found, value in self.headers if found == name), None)


class NoAnswer(Exception):
    """The request was sent, at least in part, and perhaps done."""


class AnsweredLate(Exception):
    """`status` is that of an answer that had begun."""

    def __init__(self, status: int | None) -> None:
        self.status = status
        super().__init__()


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    #: Path and query, byte for byte.
    target: str
    headers: Headers
    body: bytes
    #: How long the body of an answer with this status is read at most; None: until the deadline.
    seconds_for_body: Callable[[int], float | None]


async def exchange(wire: Wire, request: Request, *, until: float) -> Answer:
    """`until` is a time of the running loop. Raises NoAnswer, AnsweredLate."""
    connection, sent = _sent(request)
    # Beside the reading: a receiver may answer before it has read all of it.
    sending = asyncio.ensure_future(wire.send(sent))
    try:
        return await _Reading(wire, connection, request, until).answer()
    finally:
        sending.cancel()
        await asyncio.wait([sending])
        # Why it could not be sent is seen by the answer, or by there being none.
        if not sending.cancelled():
            sending.exception()


def _sent(request: Request) -> tuple[h11.Connection, bytes]:
    """A connection that has sent the request, and its bytes."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
    head = connection.send(h11.Request(method=request.method, target=request.target, headers=list(request.headers)))
    body = connection.send(h11.Data(data=request.body)) if request.body else b""
    end = connection.send(h11.EndOfMessage())
    return connection, b"".join(part for part in (head, body, end) if part)


class _Reading:
    def __init__(self, wire: Wire, connection: h11.Connection, request: Request, until: float) -> None:
        self._wire = wire
        self._connection = connection
        self._request = request
        self._until = until
        #: Of what h11 reads just now: where it gives up, the status is found here.
        self._start = b""

    async def answer(self) -> Answer:
        try:
            async with asyncio.timeout_at(self._until) as limit:
                answer = await self._head()
        except TimeoutError as error:
            raise (AnsweredLate(None) if limit.expired() else NoAnswer(type(error).__name__)) from error
        except OSError as error:
            raise NoAnswer(type(error).__name__) from error
        if self._connection.their_state is not h11.SEND_BODY:
            # Behind a head that was not to be read.
            return answer
        seconds = self._request.seconds_for_body(answer.status)
        if seconds is not None and seconds <= 0:
            return answer
        encoding = b", ".join(value for name, value in answer.headers if name == b"content-encoding")
        body = StartOfBody(encoding.decode("latin-1"))
        await self._body(body, answer.status, seconds)
        return Answer(answer.status, answer.headers, body.text)

    async def _head(self) -> Answer:
        """The first final one. Raises OSError."""
        for _ in range(_MOST_INFORMATIONAL + 1):
            answer = await self._next_head()
            if answer.status >= HTTPStatus.OK or answer.status == HTTPStatus.SWITCHING_PROTOCOLS:
                return answer
        raise NoAnswer(f"more than {_MOST_INFORMATIONAL} informational answers")

    async def _next_head(self) -> Answer:
        data = b"\n"
        while True:
            if b"\n" in data and self._has_too_many_lines():
                return self._unreadable("too many lines")
            try:
                event = self._connection.next_event()
            except h11.RemoteProtocolError as error:
                return self._unreadable(str(error))
            if event is not h11.NEED_DATA:
                assert isinstance(event, h11.InformationalResponse | h11.Response)
                self._start = self._connection.trailing_data[0][:_START_BYTES]
                return Answer(event.status_code, list(event.headers))
            data = await self._wire.receive()
            if not data:
                raise NoAnswer("closed before it answered")
            self._connection.receive_data(data)
            self._start = (self._start + data)[:_START_BYTES]

    def _has_too_many_lines(self) -> bool:
        found = self._connection.trailing_data[0]
        end = _BLANK_LINE.search(found)
        return found.count(b"\n", 0, end.start() if end else len(found)) > MAX_HEAD_LINES

    def _unreadable(self, why: str) -> Answer:
        """What is known of a head that is not to be read; the next one begins behind it."""
        found = _STATUS.match(self._start)
        if found is None:
            raise NoAnswer(f"no HTTP: {why}")
        rest = self._connection.trailing_data[0]
        self._connection, _ = _sent(self._request)
        if rest:
            self._connection.receive_data(rest)
        self._start = rest[:_START_BYTES]
        return Answer(int(found[1]))

    async def _body(self, body: StartOfBody, status: int, seconds: float | None) -> None:
        now = asyncio.get_running_loop().time()
        # Of a refusal half of what is left at most: its status must be told before the deadline.
        until = self._until if seconds is None else min(now + seconds, now + (self._until - now) / 2)
        try:
            async with asyncio.timeout_at(until) as limit:
                await self._fill(body)
        except (OSError, h11.RemoteProtocolError) as error:
            if seconds is None and limit.expired():
                raise AnsweredLate(status) from error

    async def _fill(self, body: StartOfBody) -> None:
        """Raises OSError, RemoteProtocolError."""
        while True:
            event = self._connection.next_event()
            if event is h11.NEED_DATA:
                if len(self._connection.trailing_data[0]) > _MOST_BETWEEN_CHUNKS:
                    return
                self._connection.receive_data(await self._wire.receive())
            elif not isinstance(event, h11.Data) or not body.add(bytes(event.data)):
                return
