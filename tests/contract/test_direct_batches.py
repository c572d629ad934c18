"""What is sent directly is what botocore would send, and what becomes of it is what botocore would say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore, Thread
from typing import Any

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import sqs_client
from shared.adapters.aws.direct import directly
from shared.adapters.memory import ManualClock, SeededRandomness
from shared.adapters.sqs import SqsDueQueue
from shared.domain.errors import WriteRefused
from tests.contract.values import make_dispatch
from tests.emulator import aws_environment

DISPATCHES = [make_dispatch(number) for number in range(10)]
TARGET = "AmazonSQS.SendMessageBatch"
TAKEN = json.dumps({"Successful": [{"Id": f"{number}"} for number in range(10)]})


@dataclass
class Answering:
    """A server that gives one answer to everything."""

    status: int = 200
    body: str = TAKEN
    headers: dict[str, str] = field(default_factory=dict)
    #: Of the body, when it is not all that is sent.
    claimed_length: int | None = None
    protocol: str = "HTTP/1.0"
    #: Whether a connection of HTTP/1.1 stays open. Of each that does not, `ended` is released once it is closed.
    keeps: bool = True
    ended: Semaphore = field(default_factory=lambda: Semaphore(0))
    callers: set[Any] = field(default_factory=set)
    asked: list[tuple[dict[str, str], Any]] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        answering = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = answering.protocol

            def finish(self) -> None:
                super().finish()
                self.connection.close()
                answering.ended.release()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answering.callers.add(self.client_address)
                self.close_connection = self.close_connection or not answering.keeps
                answering.asked.append((dict(self.headers.items()), json.loads(body)))
                payload = answering.body.encode()
                self.send_response(answering.status)
                for name, value in answering.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(answering.claimed_length or len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: Any) -> None: ...

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}"
            server.shutdown()


@contextmanager
def queue_at(endpoint: str) -> Iterator[SqsDueQueue]:
    with aws_environment(endpoint):
        clock = ManualClock()
        client = directly(sqs_client(), "send_message_batch")
    yield SqsDueQueue(client, f"{endpoint}/0/due", Calls(clock, SeededRandomness()))
    client.close()


def test_it_asks_for_what_was_asked() -> None:
    answering = Answering()
    with answering.served() as endpoint, queue_at(endpoint) as queue:
        report = queue.send(DISPATCHES)
    [(headers, asked)] = answering.asked
    assert report.accepted == frozenset(range(10))
    assert headers["X-Amz-Target"] == TARGET
    assert asked["QueueUrl"].endswith("/0/due")
    assert [entry["Id"] for entry in asked["Entries"]] == [f"{number}" for number in range(10)]


@pytest.mark.parametrize(
    "answering",
    [
        Answering(status=500, body="{}"),
        Answering(status=503, body="<html>no</html>"),
        Answering(status=400, body='{"__type": "com.amazonaws.sqs#RequestThrottled", "message": "slowly"}'),
        Answering(status=400, body="{}", headers={"x-amzn-query-error": "ThrottlingException;Sender"}),
        Answering(body="no json"),
        Answering(body=TAKEN[:20], claimed_length=200),
    ],
)
def test_a_call_that_failed_leaves_its_entries_open(answering: Answering) -> None:
    with answering.served() as endpoint, queue_at(endpoint) as queue:
        report = queue.send(DISPATCHES)
    assert report.accepted == frozenset()
    assert report.refused == {}


def test_where_nobody_listens_nothing_is_sent() -> None:
    with Answering().served() as endpoint:
        pass
    with queue_at(endpoint) as queue:
        report = queue.send(DISPATCHES)
    assert (report.accepted, report.refused) == (frozenset(), {})


@pytest.mark.parametrize("keeps", [True, False])
def test_a_connection_is_used_again_unless_it_was_closed_meanwhile(*, keeps: bool) -> None:
    answering = Answering(keeps=keeps, protocol="HTTP/1.1")
    with answering.served() as endpoint, queue_at(endpoint) as queue:
        for _ in range(3):
            assert len(queue.send(DISPATCHES).accepted) == 10
            answering.ended.acquire(timeout=0 if keeps else 10)
    assert len(answering.asked) == 3
    assert len(answering.callers) == (1 if keeps else 3)


def test_behind_a_proxy_the_client_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    with aws_environment("http://sqs.test"):
        client = sqs_client()
        monkeypatch.setenv("http_proxy", "http://proxy.test")
        assert directly(client, "send_message_batch") is client
    client.close()


@pytest.mark.parametrize(
    ("answering", "code"),
    [
        (Answering(status=400, body='{"__type": "com.amazonaws.sqs#QueueDoesNotExist"}'), "QueueDoesNotExist"),
        (
            Answering(
                status=400, body="{}", headers={"x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender"}
            ),
            "NonExistentQueue",
        ),
        (Answering(status=403, body='{"__type": "AccessDeniedException", "message": "not you"}'), "not you"),
    ],
)
def test_what_will_never_be_taken_is_an_error(answering: Answering, code: str) -> None:
    with answering.served() as endpoint, queue_at(endpoint) as queue, pytest.raises(WriteRefused, match=code):
        queue.send(DISPATCHES)
