"""The receiver of the webhooks. The path of a URL says what it does with them; it keeps every delivery."""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from tests.soak.ledger import Delivery, Ledger, to_ms

#: Nothing is wrong with these.
GOOD: Final = ("ok", "slow", "early-hints")
BAD: Final = ("flaky", "busy", "hang", "reset", "cut", "refuse")
SLOW_SECONDS: Final = 0.7
#: Longer than any run of the soak may take.
HANG_SECONDS: Final = 6.0
OK: Final = 200
BUSY: Final = 429
#: What is answered to a run's first attempt, and to the later ones, where that is not OK.
_FIRST: Final = {"flaky": 503, "busy": BUSY, "refuse": 400}
_LATER: Final = {"refuse": 400}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class _Webhooks(BaseHTTPRequestHandler):
    """One connection; `ledger` is set in a class of its own for each receiver."""

    protocol_version = "HTTP/1.1"
    timeout = 30
    ledger: Ledger

    def do_POST(self) -> None:
        came_at = now_ms()
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        attempt = int(self.headers["Carillon-Attempt"])
        status: int | None = None
        try:
            status = self._answer(self.path.strip("/"), attempt)
        except OSError:
            self.close_connection = True
        job_id, _, run_id = self.headers["webhook-id"].rpartition("_")
        token, slot = int(self.headers["Carillon-Fencing-Token"]), to_ms(self.headers["Carillon-Slot"])
        self.ledger.deliver(Delivery(job_id, run_id, attempt, token, slot, came_at, now_ms(), status))

    def _answer(self, behaviour: str, attempt: int) -> int | None:
        """The status that was answered as a whole."""
        if behaviour == "hang":
            # Until the sender gives up, which shows as the end of its stream.
            select.select([self.connection], [], [], HANG_SECONDS)
            self.close_connection = True
            return None
        if behaviour in ("reset", "cut") and attempt == 1:
            self._break_off(behaviour)
            return None
        if behaviour == "slow":
            time.sleep(SLOW_SECONDS)
        if behaviour == "early-hints":
            self.send_response_only(103)
            self.end_headers()
        status = _FIRST.get(behaviour, OK) if attempt == 1 else _LATER.get(behaviour, OK)
        self.send_response(status)
        if status == BUSY:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(behaviour)))
        self.end_headers()
        self.wfile.write(behaviour.encode())
        return status

    def _break_off(self, behaviour: str) -> None:
        if behaviour == "cut":
            self.send_response(OK)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"half")
            self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *_arguments: object) -> None:
        """The ledger is the log."""


@contextmanager
def receiving(ledger: Ledger) -> Iterator[str]:
    """A receiver on a free port; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Webhooks", (_Webhooks,), {"ledger": ledger}))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
