"""The client itself: one loop, many requests in flight, and answers that do not wait for their requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest

from functions.worker.targets.guard import Guard
from functions.worker.targets.http_client import HttpClient, Origin
from functions.worker.targets.http_exchange import Answer, Request
from functions.worker.targets.loop_thread import LoopThread
from shared.adapters.memory import ManualClock
from shared.domain.addresses import HostPort
from tests.unit.worker.webhooks import LOOP

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine"


def begin(port: int, body: bytes = b"", *, loop: LoopThread = LOOP, seconds: float = 10) -> Future[Answer]:
    clock = ManualClock()
    client = HttpClient(Guard(frozenset({HostPort("127.0.0.1", port)}), clock), clock, loop=loop)
    headers = [("Host", "localhost"), ("Content-Length", str(len(body)))]
    request = Request("POST", "/", headers, body, seconds_for_body=lambda _: None)
    return client.send(Origin("http", "127.0.0.1", port), request, seconds=seconds, connect_seconds=seconds)


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        listener.settimeout(10)
        yield listener


def test_who_waits_for_a_receiver_holds_no_thread() -> None:
    with listening() as listener:
        port = listener.getsockname()[1]
        begin_one = begin(port)
        accepted = [listener.accept()[0]]
        before = threading.active_count()
        futures = [begin_one, *(begin(port) for _ in range(199))]
        accepted += [listener.accept()[0] for _ in range(199)]
        threads = threading.active_count()
        for connection in accepted:
            with connection:
                connection.settimeout(10)
                connection.recv(65_536)
                connection.sendall(OK)
        answers = [future.result(timeout=10) for future in futures]

    assert threads == before
    assert {answer.text for answer in answers} == {"mine"}


def test_an_answer_that_does_not_wait_for_the_request_is_the_answer() -> None:
    def answer(listener: socket.socket, is_over: Event) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(OK.replace(b"200 OK", b"413 No"))
            is_over.wait(timeout=10)

    is_over = Event()
    with listening() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        thread = Thread(target=answer, args=(listener, is_over), daemon=True)
        thread.start()
        # More than any buffer between the two takes.
        found = begin(listener.getsockname()[1], b"x" * 32_000_000).result(timeout=10)
        is_over.set()
        thread.join(timeout=10)

    assert (found.status, found.text) == (413, "mine")


def test_who_gives_up_closes_the_connection() -> None:
    with listening() as listener:
        future = begin(listener.getsockname()[1])
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10)
            received = connection.recv(65_536)
            future.cancel()
            assert received.startswith(b"POST / HTTP/1.1\r\n")
            assert connection.recv(65_536) == b""


def test_a_loop_whose_thread_did_not_start_is_started_by_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = LoopThread()

    def fail(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(Thread, "start", fail)
        with pytest.raises(RuntimeError, match="start new thread"):
            begin(9, loop=loop)
    with listening() as listener:
        future = begin(listener.getsockname()[1], loop=loop)
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.sendall(OK)
            assert future.result(timeout=10).text == "mine"
