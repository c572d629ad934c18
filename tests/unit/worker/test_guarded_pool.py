"""A host with many addresses, none of which answers."""

from __future__ import annotations

import socket

import pytest
from urllib3 import Timeout
from urllib3.exceptions import ConnectTimeoutError
from urllib3.util import connection as connecting

from functions.worker.targets.guarded_pool import guarded_pool_manager
from shared.adapters.memory import ManualClock

CONNECT_SECONDS = 8.0
TIMEOUT = Timeout(connect=CONNECT_SECONDS, total=60)


@pytest.mark.parametrize("count", [1, 2, 50])
def test_all_addresses_of_a_host_share_one_connect_time_out(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    clock, tried = ManualClock(), []

    def resolve(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"93.184.216.{number}", 80)) for number in range(count)]

    def connect(address: tuple[str, int], timeout: float, **_: object) -> socket.socket:
        tried.append(address[0])
        clock.advance(round(timeout * 1000))
        raise TimeoutError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(connecting, "create_connection", connect)
    pool = guarded_pool_manager(internal=frozenset(), connections_per_host=1, clock=clock)
    began = clock.monotonic()
    with pytest.raises(ConnectTimeoutError):
        pool.request("GET", "http://many.example.com/", timeout=TIMEOUT, retries=False)

    assert clock.monotonic() - began == pytest.approx(CONNECT_SECONDS)
    assert len(tried) == len(set(tried)) == min(count, 4)


def test_a_name_that_took_too_long_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent after the run has ended would run twice when it is retried."""
    clock = ManualClock()

    def resolve(*_: object, **__: object) -> list[object]:
        clock.advance(9_000)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.216.34", 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(connecting, "create_connection", lambda *_, **__: pytest.fail("it was connected to"))
    pool = guarded_pool_manager(internal=frozenset(), connections_per_host=1, clock=clock)
    with pytest.raises(ConnectTimeoutError):
        pool.request("GET", "http://slow.example.com/", timeout=TIMEOUT, retries=False)
