"""A receiver that answers its first request with any bytes at all, and every other one as it should."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread

from shared.domain.addresses import HostPort

#: What every request but the first is answered, on a connection of its own.
NEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"
#: What a request is answered that came on the first one's connection.
REUSED = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nreused"

_WAIT_SECONDS = 10.0

#: Bytes to send, or something to do with the connection.
Step = bytes | Callable[[socket.socket], None]


def stall(connection: socket.socket) -> None:
    """Say nothing more, until the other side has gone."""
    with suppress(OSError):
        while connection.recv(65_536):
            pass


STALL: Step = stall


@dataclass
class RawReceiver:
    port: int
    #: Set when the first connection may go on after a `pause`.
    go_on: Event = field(default_factory=Event)
    #: Head and body of each request, as they came.
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    #: What becomes of a request that comes on the first one's connection.
    on_reuse: Sequence[Step] = (REUSED,)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def internal(self) -> HostPort:
        return HostPort("127.0.0.1", self.port)

    def pause(self, _: socket.socket) -> None:
        self.go_on.wait(_WAIT_SECONDS)


def reset(connection: socket.socket) -> None:
    """Close with RST: what was not read yet is lost on both sides."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def close(connection: socket.socket) -> None:
    connection.close()


@contextmanager
def receiving_raw(steps: Callable[[RawReceiver], Sequence[Step]]) -> Iterator[RawReceiver]:
    threads: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = RawReceiver(listener.getsockname()[1])

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    receiver.connections += 1
                    script = steps(receiver) if receiver.connections == 1 else [NEXT]
                    thread = Thread(target=_serve, args=(receiver, connection, script), daemon=True)
                    threads.append(thread)
                    thread.start()

        acceptor = Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield receiver
        finally:
            receiver.go_on.set()
            # Wakes the acceptor, which closing the listener does not.
            listener.shutdown(socket.SHUT_RDWR)
            acceptor.join(_WAIT_SECONDS)
    for thread in threads:
        thread.join(_WAIT_SECONDS)


def _serve(receiver: RawReceiver, connection: socket.socket, script: Sequence[Step]) -> None:
    connection.settimeout(_WAIT_SECONDS)
    with connection, suppress(OSError):
        while request := _read_request(connection):
            receiver.requests.append(request)
            for step in script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                else:
                    step(connection)
            script = receiver.on_reuse


def _read_request(connection: socket.socket) -> bytes:
    """Empty when the connection ended first."""
    found = b""
    while b"\r\n\r\n" not in found:
        if not (more := connection.recv(65_536)):
            return b""
        found += more
    head, _, body = found.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0]) if lengths else 0
    while len(body) < length:
        if not (more := connection.recv(65_536)):
            return b""
        body += more
    return head + b"\r\n\r\n" + body
