"""What becomes of a webhook's answer: success, redirects, time-outs, and a receiver that wants no more."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest

from functions.worker.targets.http_answer import retry_after_ms
from functions.worker.targets.http_request import WebhookRequest, redirected
from functions.worker.targets.pausing import PAUSED_BY
from shared.adapters.system import SystemClock
from shared.domain.addresses import HostPort
from shared.domain.grants import HTTP, Grant, GrantRules
from shared.domain.instants import Instant
from shared.domain.job import JobState
from shared.domain.run import RunStatus
from tests.contract.values import make_job, make_signing_key
from tests.unit.worker.receiver import Receiver, receiving
from tests.unit.worker.webhooks import OWNER, Webhooks, send, target_for, webhooks_for

NOW = Instant(1_795_743_000_000)
METADATA = "http://169.254.169.254/latest/meta-data/"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def redirecting(receiver: Receiver, location: str, status: int = 307) -> None:
    receiver.status = status
    receiver.headers = {"Location": location}


# Success and refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "success", "is_success"),
    [(404, "2xx,404", True), (200, "2xx,404", True), (204, "200", False), (302, "2xx,302", True)],
)
def test_success_is_what_the_job_calls_one(receiver: Receiver, status: int, success: str, is_success: bool) -> None:
    receiver.status, receiver.answer = status, b""

    outcome = send(target_for(receiver), receiver.url, success=success)

    assert (outcome.status is RunStatus.SUCCEEDED) == is_success


@pytest.mark.parametrize("status", [429, 503])
def test_a_receiver_says_when_to_come_again(receiver: Receiver, status: int) -> None:
    receiver.status, receiver.headers = status, {"Retry-After": "120"}

    outcome = send(target_for(receiver), receiver.url)

    assert (outcome.retry_after_ms, outcome.http_status) == (120_000, status)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("0", 0),
        (" 30 ", 30_000),
        ("Fri, 27 Nov 2026 01:30:30 GMT", 30_000),
        ("Fri, 27 Nov 2026 01:29:00 GMT", 0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 20, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str | None, expected: int | None) -> None:
    assert retry_after_ms(text, NOW) == expected


# 410 -----------------------------------------------------------------------------------------------------------------


def stored_job(webhooks: Webhooks, url: str, **changes: Any) -> None:
    document = {"type": "http", "url": url, "method": "POST", "headers": {}}
    job = make_job("nightly", owner_id=OWNER, **({"target": document} | changes))
    webhooks.tables.jobs[job.job_key] = job


def test_a_receiver_that_is_gone_pauses_its_job_with_the_reason(receiver: Receiver) -> None:
    webhooks = webhooks_for(receiver)
    stored_job(webhooks, receiver.url)
    before = webhooks.tables.jobs[f"{OWNER}/nightly"]
    receiver.status = 410

    outcome = send(webhooks.target, receiver.url)

    assert outcome.error is not None
    assert (outcome.error.type, outcome.is_permanent) == ("http_4xx", True)
    assert "the job is paused" in outcome.error.message
    after = webhooks.tables.jobs[before.job_key]
    assert (after.state, after.updated_by, after.revision) == (JobState.PAUSED, PAUSED_BY, before.revision + 1)
    assert after.state_reason == "127.0.0.1 answered 410: it wants no more calls"
    assert after.generation > before.generation
    [entry] = [entry for shard in webhooks.tables.entries.values() for entry in shard.values()]
    assert (entry.is_tombstone, entry.generation) == (True, after.generation)


@pytest.mark.parametrize(
    "changes", [{"state": JobState.CANCELLED}, {"target": {"type": "http", "url": "https://example.com/moved"}}]
)
def test_a_job_that_has_changed_since_is_left_alone(receiver: Receiver, changes: dict[str, Any]) -> None:
    webhooks = webhooks_for(receiver)
    stored_job(webhooks, receiver.url, **changes)
    before = dict(webhooks.tables.jobs)
    receiver.status = 410

    outcome = send(webhooks.target, receiver.url)

    assert outcome.error is not None
    assert "could not be paused" in outcome.error.message
    assert webhooks.tables.jobs == before


def test_410_is_a_success_where_the_job_says_so(receiver: Receiver) -> None:
    webhooks = webhooks_for(receiver)
    stored_job(webhooks, receiver.url)
    receiver.status = 410

    assert send(webhooks.target, receiver.url, success="2xx,410").status is RunStatus.SUCCEEDED
    assert webhooks.tables.jobs[f"{OWNER}/nightly"].state is JobState.ACTIVE


# Redirects -----------------------------------------------------------------------------------------------------------


def test_a_redirect_is_followed_as_often_as_the_job_says(receiver: Receiver, other: Receiver) -> None:
    redirecting(receiver, f"{other.url}?moved")

    outcome = send(target_for(receiver, other), receiver.url, payload={"n": 1}, max_redirects=1)

    assert outcome.status is RunStatus.SUCCEEDED
    [request] = other.requests
    assert (request.method, request.path, request.body) == ("POST", "/hook?moved", b'{"n":1}')


def test_a_circle_ends(receiver: Receiver) -> None:
    redirecting(receiver, receiver.url)

    outcome = send(target_for(receiver), receiver.url, max_redirects=3)

    assert outcome.error is not None
    assert outcome.error.type == "http_3xx"
    assert "3" in outcome.error.message
    assert len(receiver.requests) == 4


@pytest.mark.parametrize(
    "location", [METADATA, "http://2852039166/", "http://[::ffff:169.254.169.254]/", "http://[::1]/"]
)
def test_a_redirect_to_the_metadata_address_is_refused_and_nothing_of_it_is_stored(
    receiver: Receiver, location: str
) -> None:
    """B65."""
    redirecting(receiver, location)

    outcome = send(target_for(receiver), receiver.url, max_redirects=5)

    assert outcome.error is not None
    assert outcome.error.type == "refused_address"
    assert outcome.output is None


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.com/", "gopher://x", "http://a b/", ""])
def test_a_redirect_to_no_webhook_is_refused(receiver: Receiver, location: str) -> None:
    """B65."""
    redirecting(receiver, location)

    outcome = send(target_for(receiver), receiver.url, max_redirects=5)

    assert outcome.error is not None
    assert outcome.error.type == "http_3xx"
    assert len(receiver.requests) == 1


def test_a_secret_does_not_go_on_to_another_origin(receiver: Receiver, other: Receiver) -> None:
    webhooks = webhooks_for(receiver, other)
    webhooks.api.answer = {"SecretString": "t0ken"}
    redirecting(receiver, other.url)
    auth = {"secret_ref": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:s", "scheme": "bearer"}

    send(webhooks.target, receiver.url, auth=auth, max_redirects=1)

    assert receiver.requests[0].headers["Authorization"] == "Bearer t0ken"
    assert "Authorization" not in other.requests[0].headers


def test_nothing_is_signed_for_another_origin(receiver: Receiver, other: Receiver) -> None:
    """All receivers of an owner verify with the same keys: one of them must not have another one called in our name."""
    webhooks = webhooks_for(receiver, other)
    webhooks.access.put_signing_key(make_signing_key(owner_id=OWNER, secret="whsec_QUJD"))
    redirecting(receiver, other.url)

    send(webhooks.target, receiver.url, max_redirects=1)

    assert "webhook-signature" in receiver.requests[0].headers
    assert "webhook-signature" not in other.requests[0].headers


def test_a_redirect_to_a_host_without_a_grant_is_refused_where_hosts_need_one(
    receiver: Receiver, other: Receiver
) -> None:
    webhooks = webhooks_for(receiver, other, rules=GrantRules(is_http_open=False))
    webhooks.access.put_grant(Grant(OWNER, "g", HTTP, "127.0.0.1", NOW, "root"))
    redirecting(receiver, f"http://localhost:{other.port}/hook")

    outcome = send(webhooks.target, receiver.url, max_redirects=1)

    assert outcome.error is not None
    assert (outcome.error.type, outcome.is_permanent) == ("not_granted", True)
    assert other.connections == 0


def test_where_a_redirect_leads_and_as_what() -> None:
    post = WebhookRequest("POST", "https://a.example/x", "{}")

    def following(status: int, location: str, request: WebhookRequest = post) -> WebhookRequest:
        found = redirected(request, status, location)
        assert isinstance(found, WebhookRequest)
        return found

    for status in (301, 302, 303):
        assert (following(status, "/y").method, following(status, "/y").body) == ("GET", None)
    for status in (307, 308):
        assert (following(status, "/y").method, following(status, "/y").body) == ("POST", "{}")
    assert following(307, "y#part").url == "https://a.example/y"
    assert following(307, "https://a.example:443/y").is_at_origin
    assert not following(307, "https://b.example/y").is_at_origin
    away = following(307, "https://b.example/y")
    assert not following(307, "https://b.example/z", away).is_at_origin, "who was sent elsewhere stays elsewhere"
    assert "https to http" in str(redirected(post, 307, "http://a.example/y"))
    assert "user name" in str(redirected(post, 307, "https://u:p@a.example/"))


# Slow answers --------------------------------------------------------------------------------------------------------


@contextmanager
def dripping(head: bytes) -> Iterator[int]:
    """A port whose answer begins with `head` and goes on, a byte at a time, for as long as somebody listens."""
    is_over = Event()

    def drip(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        with accepted, suppress(OSError):
            accepted.recv(65_536)
            accepted.sendall(head)
            while not is_over.wait(0.01):
                accepted.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=drip, args=(listener,), daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        is_over.set()
        thread.join(timeout=10)


@pytest.mark.parametrize(
    "head",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Slow: ", b"H", b""],
    ids=["body", "header", "status", "nothing"],
)
def test_an_answer_that_drips_ends_at_the_deadline(head: bytes) -> None:
    with dripping(head) as port:
        webhooks = Webhooks(frozenset({HostPort("127.0.0.1", port)}), SystemClock())

        outcome = send(webhooks.target, f"http://127.0.0.1:{port}/", timeout_ms=300)

    assert outcome.status is RunStatus.TIMED_OUT


def test_a_connection_that_breaks_after_the_request_leaves_the_outcome_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(65_536)

        thread = Thread(target=hang_up, daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        webhooks = Webhooks(frozenset({HostPort("127.0.0.1", port)}))

        outcome = send(webhooks.target, f"http://127.0.0.1:{port}/")
        thread.join(timeout=10)

    assert outcome.error is not None
    assert outcome.error.type == "outcome_unknown"
