"""A receiver misbehaves towards one owner's run, and then another owner's run calls the same receiver."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from functions.worker.targets import Targets
from shared.domain.addresses import HostPort
from shared.domain.instants import DAY, Instant
from shared.domain.job import DEFAULT_RETRY
from shared.domain.run import Run
from tests.unit.worker.raw_answers import CASES, Case, head
from tests.unit.worker.raw_receiver import RawReceiver, receiving_raw
from tests.unit.worker.webhooks import Webhooks
from tests.unit.worker.workshop import Workshop

METHODS = ("POST", "PUT", "PATCH", "DELETE", "GET", "HEAD")


class Lane:
    """A worker whose webhooks reach one receiver on loopback."""

    def __init__(self, receiver: RawReceiver) -> None:
        self._url = receiver.url
        self.shop = Workshop()
        webhooks = Webhooks(frozenset({receiver.internal, HostPort("localhost", receiver.port)}), self.shop.clock)
        self._executor = self.shop.executor(targets=Targets({"http": webhooks.target}))

    def run(self, owner_id: str, *, timeout_ms: int = 5_000, **members: Any) -> Run:
        """One attempt of a job that would be tried again."""
        job = self.shop.put_one_time(
            owner_id=owner_id,
            target={"type": "http", "url": self._url, "method": "POST", "headers": {}} | members,
            retry=DEFAULT_RETRY,
            timeout_ms=timeout_ms,
        )
        dispatch = self.shop.dispatch(job)
        self.shop.run_all(self._executor)
        return self.shop.run_of(dispatch)


def error_of(run: Run) -> str | None:
    [attempt] = run.attempts
    return None if attempt.error is None else attempt.error.type


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 80


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_an_answer_means_what_it_says_and_reaches_nobody_else(case: Case) -> None:
    with receiving_raw(lambda _: case.steps) as receiver:
        lane = Lane(receiver)
        run = lane.run("first", timeout_ms=case.timeout_ms, **case.members)
        sent = len(receiver.requests)
        following = lane.run("second")

    assert (run.status, error_of(run), run.http_status) == (case.status, case.error, case.http_status)
    assert run.output == case.output
    assert (sent, run.attempts[0].attempt) == (1, 1), "sent once, and never again by itself"
    assert run.lease_until <= lane.shop.clock.now() + DAY
    assert (following.status, following.http_status, following.output) == ("succeeded", 200, "next")
    assert (len(receiver.requests), receiver.connections) == (2, 2)


def as_redirected(method: str, status: int) -> str:
    """RFC 9110, 15.4."""
    if method in {"GET", "HEAD"}:
        return method
    return "GET" if status == 303 or (method == "POST" and status in {301, 302}) else method


@pytest.mark.parametrize(
    ("status", "method", "host"), list(product((301, 302, 303, 307, 308), METHODS, ("127.0.0.1", "localhost")))
)
def test_a_redirect_goes_on_as_it_should_and_tells_others_nothing(status: int, method: str, host: str) -> None:
    def answer(receiver: RawReceiver) -> list[bytes]:
        location = b"Location: http://%s:%d/moved?to=%%2f" % (host.encode(), receiver.port)
        # What comes behind is read by nobody.
        return [
            head(location, b"Content-Length: 4", status=b"%d Moved" % status) + b"evil" + head(b"Content-Length: 4")
        ]

    with receiving_raw(answer) as receiver:
        lane = Lane(receiver)
        run = lane.run("first", method=method, headers={"X-Api-Key": "k"}, max_redirects=1)
        following = lane.run("second")

    first, second, third = receiver.requests
    goes_on_as = as_redirected(method, status)
    assert first.startswith(b"%s /hook HTTP/1.1\r\n" % method.encode())
    assert second.startswith(b"%s /moved?to=%%2f HTTP/1.1\r\n" % goes_on_as.encode())
    assert second.endswith(b'{"n":1}' if goes_on_as not in {"GET", "HEAD"} else b"\r\n\r\n")
    assert (b"X-Api-Key: k" in second) == (host == "127.0.0.1")
    assert b"X-Api-Key: k" in first
    assert b"X-Api-Key" not in third
    assert (run.status, run.http_status) == ("succeeded", 200)
    assert run.output == (None if goes_on_as == "HEAD" else "next")
    assert (following.status, following.output, receiver.connections) == ("succeeded", "next", 3)


def test_a_wait_that_was_asked_for_is_kept() -> None:
    answer = head(b"Retry-After: 120", b"Content-Length: 0", status=b"503 X")
    with receiving_raw(lambda _: [answer]) as receiver:
        lane = Lane(receiver)
        run = lane.run("first")

    assert run.lease_until == Instant(lane.shop.clock.now() + 120_000)
