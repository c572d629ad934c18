"""Webhooks, sent over real sockets to a receiver on loopback."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

import carillon
from functions.worker.targets.http_client import target_of
from shared.adapters.memory import ManualClock
from shared.domain.addresses import HostPort, parse_internal_targets
from shared.domain.limits import MAX_OUTPUT_BYTES
from shared.domain.run import RunStatus
from tests.unit.worker.certificates import write_self_signed
from tests.unit.worker.receiver import Receiver, receiving
from tests.unit.worker.webhooks import send, target_for, target_reaching


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def test_the_payload_is_posted_with_the_headers_of_the_api(receiver: Receiver) -> None:
    outcome = send(target_for(receiver), receiver.url, payload={"report": "täglich"}, headers={"X-Team": "finance"})

    assert (outcome.status, outcome.output, outcome.completion) == (RunStatus.SUCCEEDED, "thanks", "done")
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", "/hook")
    assert json.loads(request.body) == {"report": "täglich"}
    expected = {
        "webhook-id": "nightly_20261127T013000000Z",
        "webhook-timestamp": str(ManualClock().now() // 1000),
        "Carillon-Attempt": "2",
        "Carillon-Slot": "2026-11-27T01:30:00.000Z",
        "Carillon-Fencing-Token": "3",
        "Content-Type": "application/json",
        "User-Agent": f"Carillon/{carillon.__version__}",
        "X-Team": "finance",
        "Host": f"127.0.0.1:{receiver.port}",
    }
    assert request.headers.items() >= expected.items()


def test_a_stored_header_cannot_pretend_to_be_carillon(receiver: Receiver) -> None:
    forged = {
        "carillon-fencing-token": "99",
        "Webhook-Id": "forged",
        "Webhook_Signature": "v1,x",
        "Transfer_Encoding": "x",
    }
    send(target_for(receiver), receiver.url, headers=forged)

    [request] = receiver.requests
    assert not {"Webhook_Signature", "Transfer_Encoding"} & set(request.headers)
    assert request.headers["Carillon-Fencing-Token"] == "3"
    assert request.headers["webhook-id"] == "nightly_20261127T013000000Z"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"])
def test_without_a_payload_nothing_is_sent(receiver: Receiver, method: str) -> None:
    """Many receivers refuse the JSON text `null`."""
    send(target_for(receiver), receiver.url, method=method)

    [request] = receiver.requests
    assert (request.body, "Content-Type" in request.headers) == (b"", False)
    assert request.headers.get("Content-Length") == ("0" if method in {"POST", "PUT", "PATCH"} else None)


@pytest.mark.parametrize(
    "target",
    [
        "/a/../b",
        "/a/./b//c",
        "/%2f%2F%41",
        "/x?filter[state]=open&filter%5Bstate%5D=open",
        "/?",
        "/p?",
        "/p??a=b?&&",
        "/p;v=1,2@3:4!$'()*+",
        "/sig?X-Amz-Signature=aB%2b%2B/=~",
    ],
)
def test_path_and_query_are_sent_byte_for_byte(receiver: Receiver, target: str) -> None:
    """Others may have signed them."""
    send(target_for(receiver), f"http://127.0.0.1:{receiver.port}{target}", max_redirects=1)

    assert receiver.requests[0].path == target


@pytest.mark.parametrize(("rest", "target"), [("", "/"), ("?a=/b", "/?a=/b"), ("#part", "/")])
def test_a_url_without_a_path_asks_for_the_root(rest: str, target: str) -> None:
    assert target_of(f"https://example.com:8443{rest}") == target


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "GET", "HEAD"])
def test_another_method_is_used_when_given(receiver: Receiver, method: str) -> None:
    outcome = send(target_for(receiver), receiver.url, method=method, payload={"n": 1})

    assert outcome.status is RunStatus.SUCCEEDED
    [request] = receiver.requests
    assert request.method == method
    assert bool(request.body) == (method not in {"GET", "HEAD"})


@pytest.mark.parametrize(
    ("status", "error_type"),
    [(400, "http_4xx"), (404, "http_4xx"), (410, "http_4xx"), (500, "http_5xx"), (503, "http_5xx")],
)
def test_an_answer_that_is_no_success_fails_by_its_class(receiver: Receiver, status: int, error_type: str) -> None:
    receiver.status = status

    outcome = send(target_for(receiver), receiver.url)

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.type == error_type
    assert str(status) in outcome.error.message
    assert len(receiver.requests) == 1, "nothing is repeated"


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    receiver.status = 302
    receiver.headers = {"Location": "http://169.254.169.254/latest/meta-data/"}

    outcome = send(target_for(receiver), receiver.url)

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "http_3xx"
    assert len(receiver.requests) == 1


def test_only_the_start_of_a_long_answer_is_read(receiver: Receiver) -> None:
    receiver.answer = b"x" * (1024 * 1024)

    outcome = send(target_for(receiver), receiver.url)

    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.output is not None
    assert len(outcome.output) == MAX_OUTPUT_BYTES + 1, "the executor cuts"


def test_no_answer_in_time_is_timed_out(receiver: Receiver) -> None:
    receiver.gate = Event()

    outcome = send(target_for(receiver), receiver.url, timeout_ms=300)

    assert outcome.status is RunStatus.TIMED_OUT
    assert outcome.error is not None
    assert outcome.error.type == "timeout"


def test_nobody_listening_fails_to_connect_and_quotes_no_secret(receiver: Receiver) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        target = target_reaching(HostPort("127.0.0.1", port))

        outcome = send(target, f"http://127.0.0.1:{port}/hook?key=s3cret")

    assert outcome.error is not None
    assert outcome.error.type == "connect"
    assert "ConnectionRefusedError" in outcome.error.message
    assert "s3cret" not in outcome.error.message
    assert receiver.requests == []


def test_a_host_without_an_address_fails_to_connect() -> None:
    outcome = send(target_for(), "http://nowhere.invalid/hook")

    assert outcome.error is not None
    assert outcome.error.type == "connect"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",  # noqa: S104
    ],
)
def test_loopback_is_refused_however_it_is_spelled(receiver: Receiver, host: str) -> None:
    """B65."""
    outcome = send(target_for(), f"http://{host}:{receiver.port}/hook")

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "refused_address"
    assert outcome.output is None
    assert receiver.connections == 0


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "169.254.170.2", "2852039166", "[::ffff:169.254.169.254]", "[fd00:ec2::254]", "10.0.0.5"],
)
def test_metadata_and_private_addresses_are_refused(host: str) -> None:
    """B65."""
    outcome = send(target_for(), f"http://{host}/")

    assert outcome.error is not None
    assert outcome.error.type == "refused_address"


def test_an_internal_target_is_reached_only_as_it_is_spelled(receiver: Receiver) -> None:
    target = target_for(receiver)

    assert send(target, receiver.url).status is RunStatus.SUCCEEDED
    for url in (f"http://localhost:{receiver.port}/hook", f"http://127.0.0.1:{receiver.port + 1}/hook"):
        outcome = send(target, url)
        assert outcome.error is not None
        assert outcome.error.type == "refused_address"


def test_a_name_that_changes_its_mind_is_checked_at_every_connection(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B65, rebinding: the address that is checked is the one that is connected to, and the name is asked once."""
    answers = iter(["93.184.216.34", "127.0.0.1"])
    asked: list[str] = []
    real = socket.getaddrinfo

    def rebinding(host: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(host)
        return real(next(answers) if host == "rebinding.example" else host, *args, **kwargs)

    connected: list[Any] = []

    def refuse(_: socket.socket, address: Any) -> None:
        connected.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    target = target_for()

    first = send(target, f"http://rebinding.example:{receiver.port}/hook")
    second = send(target, f"http://rebinding.example:{receiver.port}/hook")

    assert connected == ["93.184.216.34"]
    assert asked.count("rebinding.example") == 2
    assert first.error is not None
    assert first.error.type == "connect"
    assert second.error is not None
    assert second.error.type == "refused_address"


def resolve(monkeypatch: pytest.MonkeyPatch, host: str, address: str) -> None:
    real = socket.getaddrinfo

    def resolved(asked: str, *args: Any, **kwargs: Any) -> Any:
        return real(address if asked == host else asked, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


def test_the_host_keeps_its_name_though_an_address_is_connected_to(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve(monkeypatch, "hooks.internal", "127.0.0.1")
    target = target_reaching(HostPort("hooks.internal", receiver.port))
    receiver.hangs_up = True

    outcomes = [send(target, f"http://hooks.internal:{receiver.port}/hook") for _ in range(3)]

    assert {outcome.status for outcome in outcomes} == {RunStatus.SUCCEEDED}
    assert {request.headers["Host"] for request in receiver.requests} == {f"hooks.internal:{receiver.port}"}


def test_tls_asks_for_the_name_and_trusts_no_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, "hooks.internal", "127.0.0.1")
    names: list[str | None] = []
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(write_self_signed(tmp_path, "hooks.internal"))
    server.sni_callback = lambda _socket, name, _context: names.append(name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def shake_hands() -> None:
            accepted, _ = listener.accept()
            with accepted, suppress(OSError), server.wrap_socket(accepted, server_side=True):
                pass

        thread = Thread(target=shake_hands, daemon=True)
        thread.start()
        target = target_reaching(HostPort("hooks.internal", port))

        outcome = send(target, f"https://hooks.internal:{port}/hook")
        thread.join(timeout=10)

    assert names == ["hooks.internal"]
    assert outcome.error is not None
    assert outcome.error.type == "tls"
    assert "SSLCertVerificationError: self-signed certificate" in outcome.error.message


def test_a_host_with_one_refused_address_among_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(*_: Any, **__: Any) -> Any:
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("93.184.216.34", "169.254.170.2")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", both)

    outcome = send(target_for(), "http://two-faced.example/")

    assert outcome.error is not None
    assert outcome.error.type == "refused_address"


def test_the_list_of_internal_targets_is_read_from_text() -> None:
    assert parse_internal_targets("127.0.0.1:8099, 127.0.0.2:*, [::1]:80,Hooks.Internal:443,") == {
        HostPort("127.0.0.1", 8099),
        HostPort("127.0.0.2", None),
        HostPort("::1", 80),
        HostPort("hooks.internal", 443),
    }
    for text in ("127.0.0.1", ":80", "host:port", "host:"):
        with pytest.raises(ValueError, match="not host:port"):
            parse_internal_targets(text)
