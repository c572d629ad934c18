"""TLS with receivers that get it wrong, and with those that get it right."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import pytest

from shared.adapters.memory import ManualClock
from shared.domain.addresses import HostPort
from shared.domain.retry import PERMANENT
from shared.domain.run import RunStatus
from tests.unit.worker.certificates import write_self_signed
from tests.unit.worker.raw_receiver import NEXT, reset, stall
from tests.unit.worker.webhooks import Webhooks, send

HOST = "localhost"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine"
#: Of TLS: a fatal `handshake_failure`.
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"

Serve = Callable[[socket.socket, ssl.SSLContext], None]


@dataclass(frozen=True)
class Certificates:
    good: Path
    unknown: Path
    of_another: Path
    expired: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    def made(host: str, days: int = 1) -> Path:
        return write_self_signed(tmp_path_factory.mktemp("tls"), host, days=days)

    return Certificates(made(HOST), made(HOST), made("other.example"), made(HOST, days=-1))


def context_of(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def answering(connection: socket.socket, context: ssl.SSLContext, answer: bytes = NEXT) -> None:
    with context.wrap_socket(connection, server_side=True) as spoken:
        spoken.recv(65_536)
        spoken.sendall(answer)


@contextmanager
def receiving_tls(first: Serve, context: ssl.SSLContext, good: ssl.SSLContext) -> Iterator[int]:
    """The first connection is served by `first`, every other one as it should be."""
    threads: list[Thread] = []

    def serve(connection: socket.socket, number: int) -> None:
        connection.settimeout(10)
        with connection, suppress(OSError):
            if number:
                answering(connection, good)
            else:
                first(connection, context)

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                for number in range(2):
                    connection, _ = listener.accept()
                    threads.append(Thread(target=serve, args=(connection, number), daemon=True))
                    threads[-1].start()

        acceptor = Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            acceptor.join(timeout=10)
    for thread in threads:
        thread.join(timeout=10)


def refusing(connection: socket.socket, context: ssl.SSLContext) -> None:
    with context.wrap_socket(connection, server_side=True):
        pass


def plain(connection: socket.socket, _: ssl.SSLContext) -> None:
    connection.recv(65_536)
    connection.sendall(OK)


def alerting(connection: socket.socket, _: ssl.SSLContext) -> None:
    connection.recv(65_536)
    connection.sendall(ALERT)


def resetting(connection: socket.socket, _: ssl.SSLContext) -> None:
    connection.recv(65_536)
    reset(connection)


def hanging_up(connection: socket.socket, _: ssl.SSLContext) -> None:
    connection.recv(65_536)


def stalling(connection: socket.socket, _: ssl.SSLContext) -> None:
    stall(connection)


def broken(connection: socket.socket, _: ssl.SSLContext) -> None:
    connection.recv(65_536)
    connection.sendall(b"\xff" * 1_000)


def speaking(answer: bytes) -> Serve:
    def serve(connection: socket.socket, context: ssl.SSLContext) -> None:
        spoken = context.wrap_socket(connection, server_side=True, suppress_ragged_eofs=True)
        spoken.recv(65_536)
        spoken.sendall(answer)
        # Without a word of TLS, as many do.
        socket.close(spoken.detach())

    return serve


def older(connection: socket.socket, context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    answering(connection, context, OK)


def asking_for_a_certificate(connection: socket.socket, context: ssl.SSLContext) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    answering(connection, context, OK)


CASES: Sequence[tuple[str, Serve, str, str | None, str | None]] = [
    ("a certificate that nobody knows", refusing, "unknown", "tls", None),
    ("a certificate of another host", refusing, "of_another", "tls", None),
    ("a certificate that has expired", refusing, "expired", "tls", None),
    ("no TLS at all", plain, "good", "tls", None),
    ("an alert", alerting, "good", "tls", None),
    ("no handshake", broken, "good", "tls", None),
    ("a reset within the handshake", resetting, "good", "connect", None),
    ("the end within the handshake", hanging_up, "good", "connect", None),
    ("silence within the handshake", stalling, "good", "connect", None),
    ("a certificate is asked for", asking_for_a_certificate, "good", "outcome_unknown", None),
    ("the end after the handshake", speaking(b""), "good", "outcome_unknown", None),
    ("half a head", speaking(OK[:20]), "good", "outcome_unknown", None),
    ("an answer", speaking(OK), "good", None, "mine"),
    ("an answer by TLS 1.2", older, "good", None, "mine"),
    ("an answer until the end", speaking(b"HTTP/1.1 200 OK\r\n\r\nmine"), "good", None, "mine"),
    ("an answer that is cut", speaking(OK.replace(b": 4", b": 40")), "good", None, "mine"),
    ("more than an answer", speaking(OK + OK.replace(b"mine", b"evil")), "good", None, "mine"),
]


@pytest.mark.parametrize(
    ("serve", "certificate", "error", "output"), [pytest.param(*case[1:], id=case[0]) for case in CASES]
)
def test_what_becomes_of_a_webhook_and_of_the_next_one(
    certificates: Certificates, serve: Serve, certificate: str, error: str | None, output: str | None
) -> None:
    trust = ssl.create_default_context()
    for known in (certificates.good, certificates.of_another, certificates.expired):
        trust.load_verify_locations(known)
    context = context_of(getattr(certificates, certificate))
    with receiving_tls(serve, context, context_of(certificates.good)) as port:
        webhooks = Webhooks(frozenset({HostPort(HOST, port)}), ManualClock(), trust=trust)
        url = f"https://{HOST}:{port}/hook?key=s3cret"
        outcome = send(webhooks.target, url, connect_timeout="PT0.3S" if serve is stalling else "PT5S")
        following = send(webhooks.target, url)

    assert (None if outcome.error is None else outcome.error.type, outcome.output) == (error, output)
    assert "s3cret" not in str(outcome.error)
    assert (following.status, following.output) == (RunStatus.SUCCEEDED, "next")


def test_what_is_not_trusted_is_not_tried_again_by_itself() -> None:
    assert "tls" in PERMANENT
    assert "connect" not in PERMANENT
