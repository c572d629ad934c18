"""What becomes of a webhook's answer: success, time-outs, and a receiver that wants no more."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pytest

from functions.worker.targets.http_answer import retry_after_ms
from functions.worker.targets.pausing import PAUSED_BY
from shared.adapters.system import SystemClock
from shared.domain.addresses import HostPort
from shared.domain.instants import Instant
from shared.domain.job import JobState
from shared.domain.limits import MAX_RETRY_AGE_MS
from shared.domain.run import RunStatus
from tests.contract.values import make_job
from tests.unit.worker.receiver import Receiver, receiving
from tests.unit.worker.webhooks import OWNER, Webhooks, send, target_for, webhooks_for

NOW = Instant(1_795_743_000_000)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


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
    ("value", "expected"),
    [
        (None, None),
        (b"", None),
        (b"0", 0),
        (b" 30 ", 30_000),
        (b"Fri, 27 Nov 2026 01:30:30 GMT", 30_000),
        (b"Fri, 27 Nov 2026 01:29:00 GMT", 0),
        (b"-5", None),
        (b"1.5", None),
        (b"soon", None),
        ("\u0663".encode(), None),
        (b"\xff\xfe", None),
        (b"Fri, 27 Nov 99999999999999999999 01:29:00 GMT", None),
        (b"Fri, 99 Nov 2026 01:29:00 GMT", None),
        (b"Fri, 27 Nov 2026 01:29:00 +99999999999999999999", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: bytes | None, expected: int | None) -> None:
    assert retry_after_ms(value, NOW) == expected


@pytest.mark.parametrize("value", [b"9" * 10, b"9" * 20, b"9" * 60_000, b"Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_retry_after_that_nobody_means_is_further_than_any_policy(value: bytes) -> None:
    found = retry_after_ms(value, NOW)

    assert found is not None
    assert MAX_RETRY_AGE_MS < found <= 10**15


@pytest.mark.parametrize("value", ["9" * 20, "9" * 60_000, "Fri, 27 Nov 99999999999999999999 01:29:00 GMT"])
def test_no_retry_after_changes_what_a_status_means(receiver: Receiver, value: str) -> None:
    webhooks = webhooks_for(receiver)
    stored_job(webhooks, receiver.url)
    receiver.status, receiver.headers = 410, {"Retry-After": value}

    outcome = send(webhooks.target, receiver.url)

    assert outcome.error is not None
    assert (outcome.error.type, outcome.http_status, outcome.is_permanent) == ("http_4xx", 410, True)
    assert webhooks.tables.jobs[f"{OWNER}/nightly"].state is JobState.PAUSED


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
