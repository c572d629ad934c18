"""Where a redirect leads, with what, and what does not go along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from functions.worker.targets.http_request import WebhookRequest, redirected
from shared.domain.grants import HTTP, Grant, GrantRules
from shared.domain.instants import Instant
from shared.domain.run import RunStatus
from tests.contract.values import make_signing_key
from tests.unit.worker.receiver import Receiver, receiving
from tests.unit.worker.webhooks import OWNER, send, target_for, webhooks_for

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


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://example.com/",
        "gopher://x",
        "http://a b/",
        "http://b\u00fccher.example/",
        "http:x",
        "",
    ],
)
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


POST = WebhookRequest("POST", "https://a.example/x", "{}")


def following(status: int, location: str | bytes, request: WebhookRequest = POST) -> WebhookRequest:
    found = redirected(request, status, location.encode() if isinstance(location, str) else location)
    assert isinstance(found, WebhookRequest), found
    return found


@pytest.mark.parametrize(
    ("method", "as_get"),
    [("POST", {301, 302, 303}), ("PUT", {303}), ("PATCH", {303}), ("DELETE", {303}), ("GET", set()), ("HEAD", set())],
)
def test_what_method_a_redirect_goes_on_with(method: str, as_get: set[int]) -> None:
    """RFC 9110, 15.4: a DELETE that becomes a GET deletes nothing, and succeeds."""
    request = replace(POST, method=method, body=None if method in {"GET", "HEAD"} else "{}")

    for status in (301, 302, 303, 307, 308):
        found = following(status, "/y", request)
        expected = ("GET", None) if status in as_get else (method, request.body)
        assert (found.method, found.body) == expected, status


def test_where_a_redirect_leads() -> None:
    assert following(307, "y#part").url == "https://a.example/y"
    assert following(307, "https://a.example:443/y").is_at_origin
    assert not following(307, "https://b.example/y").is_at_origin
    away = following(307, "https://b.example/y")
    assert not following(307, "https://b.example/z", away).is_at_origin, "who was sent elsewhere stays elsewhere"
    assert not following(307, "https://a.example/x", away).is_at_origin
    assert "https to http" in str(redirected(POST, 307, b"http://a.example/y"))
    assert "user name" in str(redirected(POST, 307, b"https://u:p@a.example/"))


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/a b?c d", "https://a.example/a%20b?c%20d"),
        (" /padded ", "https://a.example/padded"),
        ("/b\u00fccher?n=\u00fc", "https://a.example/b%C3%BCcher?n=%C3%BC"),
        (b"/b\xfccher", "https://a.example/b%FCcher"),
        ("/{id}?q={x}|^`", "https://a.example/%7Bid%7D?q=%7Bx%7D%7C%5E%60"),
        ("\\a\\b?c\\d", "https://a.example/a/b?c%5Cd"),
        ("https://b.example/a/../b%2f?", "https://b.example/a/../b%2f?"),
        ("//b.example/p?filter[state]=x", "https://b.example/p?filter[state]=x"),
        ("?only=query", "https://a.example/x?only=query"),
        ("../up", "https://a.example/up"),
        ("HTTPS://B.example/", "HTTPS://B.example/"),
    ],
)
def test_a_location_is_read_as_browsers_read_it(location: str | bytes, url: str) -> None:
    assert following(307, location).url == url


def test_the_headers_of_the_job_stay_at_its_origin(receiver: Receiver, other: Receiver) -> None:
    """One of them may be a key: it goes where the job says, not where a receiver sends it on to."""
    redirecting(receiver, other.url)

    send(
        target_for(receiver, other),
        receiver.url,
        payload={"n": 1},
        headers={"X-Api-Key": "k", "Content-Type": "application/cloudevents+json"},
        max_redirects=1,
    )

    assert receiver.requests[0].headers["X-Api-Key"] == "k"
    [away] = other.requests
    assert "X-Api-Key" not in away.headers
    assert (away.body, away.headers["Content-Type"]) == (b'{"n":1}', "application/cloudevents+json")
    assert away.headers["Carillon-Fencing-Token"] == "3"


def test_the_headers_of_the_job_go_along_within_its_origin(receiver: Receiver) -> None:
    redirecting(receiver, "/next")

    send(target_for(receiver), receiver.url, headers={"X-Api-Key": "k"}, max_redirects=1)

    assert [request.headers["X-Api-Key"] for request in receiver.requests] == ["k", "k"]
