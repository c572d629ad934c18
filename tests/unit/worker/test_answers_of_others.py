"""What one receiver answers to one owner's run never reaches another run."""

from __future__ import annotations

import pytest

from shared.domain.run import RunStatus
from tests.unit.worker.raw_receiver import RawReceiver, Step, receiving_raw, reset
from tests.unit.worker.webhooks import Webhooks, send

MINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"


@pytest.mark.parametrize("status", [100, 102, 103, 110, 199])
@pytest.mark.parametrize("count", [1, 3])
def test_informational_answers_are_read_over(status: int, count: int) -> None:
    """RFC 9110, 15.2."""
    with receiving_raw(lambda _: [b"HTTP/1.1 %d X\r\nLink: </a>\r\n\r\n" % status * count + MINE]) as receiver:
        outcome = send(Webhooks(frozenset({receiver.internal})).target, receiver.url)

    assert (outcome.status, outcome.output) == (RunStatus.SUCCEEDED, "mine")


def test_a_late_answer_is_that_of_its_own_request() -> None:
    def steps(receiver: RawReceiver) -> list[Step]:
        return [EARLY_HINTS, lambda _: receiver.go_on.set(), MINE, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nextra"]

    with receiving_raw(steps) as receiver:
        target = Webhooks(frozenset({receiver.internal})).target
        first = send(target, receiver.url)
        second = send(target, receiver.url)

    assert (first.status, first.output) == (RunStatus.SUCCEEDED, "mine")
    assert (second.status, second.output) == (RunStatus.SUCCEEDED, "next")


def test_no_connection_serves_two_requests() -> None:
    with receiving_raw(lambda _: [MINE]) as receiver:
        target = Webhooks(frozenset({receiver.internal})).target
        outputs = [send(target, receiver.url).output for _ in range(3)]

    assert outputs == ["mine", "next", "next"]
    assert receiver.connections == 3


def test_nothing_is_sent_again_by_itself() -> None:
    """A receiver that breaks off may have had all of it: what follows is an attempt of its own, or nothing."""
    with receiving_raw(lambda _: [MINE]) as receiver:
        receiver.on_reuse = [reset]
        target = Webhooks(frozenset({receiver.internal})).target
        for _ in range(3):
            send(target, receiver.url)

    assert len(receiver.requests) == 3
