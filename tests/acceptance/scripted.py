"""A webhook that answers as it is told: by number of the call, late, and with headers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int = 200
    retry_after: str | None = None
    #: Sent only once it is set.
    after: Event | None = None


@dataclass
class Script:
    """`replies` in the order of the calls; after the last all is well."""

    url: str = ""
    replies: Sequence[Reply] = ()
    #: The headers of every call, by lower-case name.
    calls: list[dict[str, str]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def take(self, headers: Any) -> Reply:
        with self._lock:
            self.calls.append({name.lower(): value for name, value in headers.items()})
            number = len(self.calls)
        return self.replies[number - 1] if number <= len(self.replies) else Reply()

    @property
    def tokens(self) -> list[int]:
        return [int(call["carillon-fencing-token"]) for call in self.calls]


@contextmanager
def scripted(*replies: Reply) -> Iterator[Script]:
    script = Script(replies=replies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            reply = script.take(self.headers)
            if reply.after is not None:
                reply.after.wait(timeout=120)
            try:
                self.send_response(reply.status)
                if reply.retry_after is not None:
                    self.send_header("Retry-After", reply.retry_after)
                self.end_headers()
            except OSError:
                # Whoever called has been killed meanwhile.
                return

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
