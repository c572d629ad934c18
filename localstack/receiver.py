"""A little HTTP receiver on loopback: what a user's webhook would be. It keeps what it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request; header names are lower case."""

    path: str
    headers: dict[str, str]
    body: Any
    #: As it came, which signatures are of.
    content: bytes = b""


@dataclass
class Receiver:
    """Waits for what a test or the demo expects, without polling."""

    url: str
    #: What it answers to every request.
    status: int = 200
    requests: list[Received] = field(default_factory=list)
    _arrived: Condition = field(default_factory=Condition)

    def take(self, received: Received) -> None:
        with self._arrived:
            self.requests.append(received)
            self._arrived.notify_all()

    def wait_for(self, holds: Callable[[list[Received]], bool], *, timeout_seconds: float) -> bool:
        """Whether `holds` comes true of all requests so far within the time."""
        with self._arrived:
            return self._arrived.wait_for(lambda: holds(self.requests), timeout_seconds)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver on a free port, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            kept.take(Received(self.path, headers, json.loads(body) if body else None, body))
            self.send_response(kept.status)
            self.end_headers()
            self.wfile.write(b"received")

        def log_message(self, *_arguments: object) -> None:
            """The demo speaks for itself."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept = Receiver(f"http://127.0.0.1:{server.server_address[1]}")
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
