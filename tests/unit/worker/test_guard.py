"""A host with many addresses, none of which answers; and names that are slow. Nothing here leaves this machine."""

from __future__ import annotations

import asyncio
import socket
from threading import Event

import pytest

from functions.worker.targets.guard import Guard, NotConnected, RefusedAddress
from functions.worker.targets.names import Addresses, Names, SocketAddress
from shared.adapters.memory import ManualClock

CONNECT_SECONDS = 8.0
PUBLIC = "93.184.216.34"


def addresses_of(*texts: str) -> Addresses:
    return [(socket.AF_INET, (text, 80)) for text in texts]


class Silent:
    """Connections that are made nowhere, and never in time."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.tried: list[str] = []

    async def connect(self, _: socket.AddressFamily, address: SocketAddress, seconds: float) -> socket.socket:
        self.tried.append(address[0])
        self._clock.advance(round(seconds * 1000))
        raise TimeoutError


def connect(guard: Guard, clock: ManualClock) -> None:
    asyncio.run(guard.connect("many.example.com", 80, until=clock.monotonic() + CONNECT_SECONDS))


@pytest.mark.parametrize("count", [1, 2, 50])
def test_all_addresses_of_a_host_share_one_connect_time_out(count: int) -> None:
    clock = ManualClock()
    silent = Silent(clock)

    async def resolve(*_: object) -> Addresses:
        return addresses_of(*(f"93.184.216.{number}" for number in range(count)))

    began = clock.monotonic()
    with pytest.raises(NotConnected):
        connect(Guard(frozenset(), clock, resolve=resolve, connect=silent.connect), clock)

    assert clock.monotonic() - began == pytest.approx(CONNECT_SECONDS)
    assert len(silent.tried) == len(set(silent.tried)) == min(count, 4)


def test_a_name_that_took_too_long_is_not_connected_to() -> None:
    """What is sent after the run has ended would run twice when it is retried."""
    clock = ManualClock()
    silent = Silent(clock)

    async def resolve(*_: object) -> Addresses:
        clock.advance(9_000)
        return addresses_of(PUBLIC)

    with pytest.raises(NotConnected):
        connect(Guard(frozenset(), clock, resolve=resolve, connect=silent.connect), clock)

    assert silent.tried == []


@pytest.mark.parametrize("address", ["127.0.0.1", "169.254.169.254", "10.0.0.1"])
def test_one_refused_address_among_others_refuses_the_host(address: str) -> None:
    clock = ManualClock()
    silent = Silent(clock)

    async def resolve(*_: object) -> Addresses:
        return addresses_of(PUBLIC, address)

    with pytest.raises(RefusedAddress):
        connect(Guard(frozenset(), clock, resolve=resolve, connect=silent.connect), clock)

    assert silent.tried == []


def test_a_host_without_an_address_is_not_connected_to() -> None:
    clock = ManualClock()

    async def resolve(*_: object) -> Addresses:
        return []

    with pytest.raises(NotConnected):
        connect(Guard(frozenset(), clock, resolve=resolve, connect=Silent(clock).connect), clock)


def test_a_slow_name_holds_one_thread_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    may_answer = Event()

    def resolve(host: str, *_: object, **__: object) -> list[object]:
        asked.append(host)
        if host == "slow.example":
            may_answer.wait(timeout=10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 80))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    async def ask() -> list[Addresses]:
        names = Names(threads=2)
        slow = [asyncio.ensure_future(names.addresses("slow.example", 80)) for _ in range(50)]
        impatient = asyncio.ensure_future(names.addresses("slow.example", 80))
        quick = [await names.addresses(f"quick{number}.example", 80) for number in range(3)]
        impatient.cancel()
        assert not any(each.done() for each in slow)
        may_answer.set()
        return quick + list(await asyncio.gather(*slow))

    found = asyncio.run(ask())

    assert found == [addresses_of(PUBLIC)] * 53
    assert sorted(asked) == ["quick0.example", "quick1.example", "quick2.example", "slow.example"]


def test_a_name_that_failed_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[object] = [socket.gaierror(8, "unknown"), [(socket.AF_INET, 1, 6, "", (PUBLIC, 80))]]

    def resolve(*_: object, **__: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    names = Names(threads=1)

    async def ask() -> Addresses:
        return await names.addresses("flaky.example", 80)

    with pytest.raises(socket.gaierror):
        asyncio.run(ask())
    assert asyncio.run(ask()) == addresses_of(PUBLIC)
