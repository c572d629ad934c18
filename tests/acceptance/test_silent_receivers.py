"""Webhooks whose receivers never answer: no run of theirs is lost or doubled, nor is one beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread

import pytest

from carillon.client import Client, in_
from localstack.receiver import Receiver
from tests.acceptance.waiting import unique

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

SILENT, QUICK, ATTEMPTS = 40, 20, 2
#: A run's id over all deliveries, and which attempt each is.
Delivery = tuple[str, str]


class Silent:
    """A receiver that reads each request and answers none until the test is over."""

    def __init__(self) -> None:
        self.url = ""
        self.came: Counter[Delivery] = Counter()
        self.is_over = Event()
        self._lock = Lock()

    def take(self, delivery: Delivery) -> None:
        with self._lock:
            self.came[delivery] += 1
        self.is_over.wait()


@pytest.fixture
def silent() -> Iterator[Silent]:
    kept = Silent()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.take((self.headers["webhook-id"], self.headers["carillon-attempt"]))
            self.close_connection = True

        def log_message(self, *_arguments: object) -> None:
            """Forty say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 2 * SILENT

    server = Server(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_address[1]}/silent"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kept
    finally:
        kept.is_over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_receivers_that_never_answer_cost_no_run_and_double_none(
    client: Client, webhook: Receiver, silent: Silent
) -> None:
    def create(url: str, timeout: str) -> str:
        job = client.create_job(
            job_id=unique("silent"),
            schedule=in_("PT3S"),
            target={"type": "http", "url": url},
            timeout=timeout,
            retry={"max_attempts": ATTEMPTS, "base": "PT1S", "cap": "PT1S"},
        )
        return str(job["job_id"])

    hanging = [create(silent.url, "PT4S") for _ in range(SILENT)]
    quick = [create(webhook.url, "PT30S") for _ in range(QUICK)]

    ended = {job_id: client.wait_for_run(job_id, timeout=120) for job_id in (*hanging, *quick)}

    assert {ended[job_id]["status"] for job_id in quick} == {"succeeded"}
    assert {(ended[job_id]["status"], len(ended[job_id]["attempts"])) for job_id in hanging} == {
        ("timed_out", ATTEMPTS)
    }
    assert set(silent.came.values()) == {1}
    assert len(silent.came) == SILENT * ATTEMPTS
    assert len(webhook.requests) == QUICK
