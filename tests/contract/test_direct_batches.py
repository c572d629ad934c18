"""What is sent directly is what botocore would send, and what becomes of it is what botocore would say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from botocore import auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import sqs_client
from shared.adapters.memory import ManualClock, SeededRandomness
from shared.adapters.sqs import SqsDueQueue
from shared.adapters.sqs.direct import CONTENT_TYPE, TARGET, DirectBatches, signed_headers
from shared.domain.errors import WriteRefused
from shared.domain.instants import parse_rfc3339, to_datetime
from tests.contract.values import make_dispatch
from tests.emulator import aws_environment

NOW = parse_rfc3339("2026-11-30T02:50:07.123Z")
DISPATCHES = [make_dispatch(number) for number in range(10)]
TAKEN = json.dumps({"Successful": [{"Id": f"{number}"} for number in range(10)]})


@dataclass
class Answering:
    """A server that gives one answer to everything."""

    status: int = 200
    body: str = TAKEN
    headers: dict[str, str] = field(default_factory=dict)
    #: Of the body, when it is not all that is sent.
    claimed_length: int | None = None
    asked: list[tuple[dict[str, str], Any]] = field(default_factory=list)

    @contextmanager
    def served(self) -> Iterator[str]:
        answering = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
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


def queue_at(endpoint: str) -> SqsDueQueue:
    with aws_environment(endpoint):
        clock, client = ManualClock(), sqs_client()
        return SqsDueQueue(
            client, f"{endpoint}/0/due", Calls(clock, SeededRandomness()), DirectBatches.beside(client, clock)
        )


@pytest.mark.parametrize("token", [None, "a-session-token"])
def test_the_signature_is_that_of_botocore(token: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"QueueUrl": "q", "Entries": []}).encode()
    headers = signed_headers(
        body, NOW, host="sqs.eu-central-1.amazonaws.com", region="eu-central-1", keys=("AKID", "secret", token)
    )
    given = {"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET}
    request = AWSRequest("POST", "https://sqs.eu-central-1.amazonaws.com/", headers=given, data=body)
    monkeypatch.setattr(auth, "get_current_datetime", lambda: to_datetime(NOW))
    auth.SigV4Auth(Credentials("AKID", "secret", token), "sqs", "eu-central-1").add_auth(request)

    assert headers["Authorization"] == request.headers["Authorization"]
    assert headers["X-Amz-Date"] == datetime(2026, 11, 30, 2, 50, 7, tzinfo=UTC).strftime("%Y%m%dT%H%M%SZ")


def test_it_asks_for_what_was_asked() -> None:
    answering = Answering()
    with answering.served() as endpoint:
        report = queue_at(endpoint).send(DISPATCHES)
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
    with answering.served() as endpoint:
        report = queue_at(endpoint).send(DISPATCHES)
    assert report.accepted == frozenset()
    assert report.refused == {}


def test_where_nobody_listens_nothing_is_sent() -> None:
    with Answering().served() as endpoint:
        queue = queue_at(endpoint)
    report = queue.send(DISPATCHES)
    assert (report.accepted, report.refused) == (frozenset(), {})


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
    with answering.served() as endpoint, pytest.raises(WriteRefused, match=code):
        queue_at(endpoint).send(DISPATCHES)
