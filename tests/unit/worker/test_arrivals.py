"""Messages that come while others are claimed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Thread

import pytest

from functions.worker.arrivals import MOST_TOGETHER, Arrivals
from shared.ports import Delivery
from tests.unit.worker.workshop import Workshop

PATIENCE = 20


class Claims:
    """Each goes on until a test lets it."""

    def __init__(self) -> None:
        self.begun: SimpleQueue[list[Delivery]] = SimpleQueue()
        self.may_end: SimpleQueue[Exception | None] = SimpleQueue()

    def __call__(self, deliveries: Sequence[Delivery]) -> None:
        self.begun.put(list(deliveries))
        fault = self.may_end.get(timeout=PATIENCE)
        if fault is not None:
            raise fault

    def next(self) -> list[Delivery]:
        return self.begun.get(timeout=PATIENCE)


def messages(shop: Workshop, count: int) -> list[Delivery]:
    for number in range(count):
        shop.dispatch(shop.put_job(f"job-{number}"))
    received: list[Delivery] = []
    while len(received) < count:
        received += shop.receive()
    return received


def started(act: Callable[[], None]) -> Thread:
    thread = Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_what_comes_while_enough_are_claimed_is_claimed_together(shop: Workshop) -> None:
    claims = Claims()
    arrivals = Arrivals(claims, at_once=2)
    received = messages(shop, 60)
    first, second, rest = received[:10], received[10:20], received[20:]
    busy = []
    for each in (first, second):
        busy.append(started(partial(arrivals.come, each)))
        assert claims.next() == each
    for start in range(0, len(rest), 10):
        # Nobody waits here for the others' claims.
        arrivals.come(rest[start : start + 10])
    for _ in range(2):
        claims.may_end.put(None)

    together = [claims.next(), claims.next()]
    assert [each for part in together for each in part] == rest
    assert [len(part) for part in together] == [MOST_TOGETHER, 15]
    for _ in range(2):
        claims.may_end.put(None)
    for thread in busy:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_what_waits_behind_a_claim_that_failed_is_claimed_by_the_next(shop: Workshop) -> None:
    claims = Claims()
    arrivals = Arrivals(claims, at_once=1)
    first, second = messages(shop, 2)
    raised: list[Exception] = []

    def come() -> None:
        try:
            arrivals.come([first])
        except ZeroDivisionError as error:
            raised.append(error)

    busy = started(come)
    assert claims.next() == [first]
    arrivals.come([second])
    claims.may_end.put(ZeroDivisionError())
    busy.join(PATIENCE)
    assert len(raised) == 1

    claims.may_end.put(None)
    arrivals.claim_waiting()
    assert claims.next() == [second]


def test_what_was_left_is_given_to_who_stops(shop: Workshop) -> None:
    claims = Claims()
    arrivals = Arrivals(claims, at_once=1)
    first, second = messages(shop, 2)
    busy = started(lambda: arrivals.come([first]))
    claims.next()
    arrivals.come([second])

    assert arrivals.take_all() == [second]
    claims.may_end.put(None)
    busy.join(PATIENCE)
    assert arrivals.take_all() == []


def test_a_claim_that_raises_raises_where_it_was_made(shop: Workshop) -> None:
    claims = Claims()
    claims.may_end.put(ZeroDivisionError())

    with pytest.raises(ZeroDivisionError):
        Arrivals(claims, at_once=1).come(messages(shop, 1))
