"""The API over memory behind real HTTP, on a port of loopback: the quick half of fuzzing it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from tests.unit.api.world import World, event_of


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One packet for head and body: two would wait for each other.
    wbufsize = -1
    #: Set on the class that `served` makes.
    world: World

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "surrogateescape")
        headers = {name.lower(): value for name, value in self.headers.items()}
        # Time passes from one request to the next, or all would be of one second of the rate.
        self.world.clock.advance(100)
        event = event_of(self.command, unquote(path), body or None, query=query, headers=headers)
        answer: dict[str, Any] = self.world.handler(event, None)
        content = answer["body"].encode()
        self.send_response(answer["statusCode"])
        for name, value in answer["headers"].items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def __getattr__(self, name: str) -> Any:
        """Every method is answered, known ones and others, as API Gateway hands them all on."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: the answers are what is looked at."""


@contextmanager
def served(world: World) -> Iterator[str]:
    """The URL at which the world's API answers."""
    requests = type("Requests", (_Requests,), {"world": world})
    server = ThreadingHTTPServer(("127.0.0.1", 0), requests)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
