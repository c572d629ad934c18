from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import sqs_client
from shared.adapters.aws.direct import directly
from shared.adapters.memory import ManualClock, MemoryDueQueue, SeededRandomness
from shared.adapters.sqs import SqsDueQueue
from shared.domain.message import encode
from shared.ports import Delivery, DueQueue
from tests.contract.values import make_dispatch
from tests.emulator import aws_environment


class Lane(Protocol):
    queue: DueQueue
    clock: ManualClock

    def put(self, body: str) -> None: ...


class MemoryLane:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.memory = MemoryDueQueue(self.clock)
        self.queue: DueQueue = self.memory

    def put(self, body: str) -> None:
        self.memory.send_body(body)


class SqsLane:
    def __init__(self, request: pytest.FixtureRequest, *, is_direct: bool = False) -> None:
        self.clock = ManualClock()
        self._client = request.getfixturevalue("sqs")
        self._url = request.getfixturevalue("queue_url")
        client = self._client
        if is_direct:
            with aws_environment(request.getfixturevalue("emulator_endpoint")):
                client = directly(sqs_client(), "send_message_batch")
            request.addfinalizer(client.close)
        self.queue: DueQueue = SqsDueQueue(client, self._url, Calls(self.clock, SeededRandomness()))

    def put(self, body: str) -> None:
        self._client.send_message(QueueUrl=self._url, MessageBody=body)


@pytest.fixture(
    params=[
        "memory",
        pytest.param("sqs", marks=pytest.mark.emulator),
        pytest.param("sqs, direct", marks=pytest.mark.emulator),
    ]
)
def lane(request: pytest.FixtureRequest) -> Lane:
    return MemoryLane() if request.param == "memory" else SqsLane(request, is_direct=request.param == "sqs, direct")


@pytest.fixture
def receive(lane: Lane) -> Callable[..., list[Delivery]]:
    def receive(limit: int = 10, visibility_seconds: int = 60) -> list[Delivery]:
        return lane.queue.receive(limit=limit, wait_seconds=0, visibility_seconds=visibility_seconds)

    return receive


Receive = Callable[..., list[Delivery]]


def test_what_was_accepted_is_received_once(lane: Lane, receive: Receive) -> None:
    dispatches = [make_dispatch(number, job_key=f"owner-{number % 3}/job") for number in range(25)]

    report = lane.queue.send(dispatches)

    assert report.accepted == frozenset(range(25))
    assert report.refused == {}
    received = [delivery for _ in range(4) for delivery in receive()]
    assert sorted((it.dispatch for it in received if it.dispatch), key=lambda it: it.slot) == dispatches
    assert all(it.body == encode(it.dispatch) for it in received if it.dispatch)
    assert {it.receive_count for it in received} == {1}
    assert {it.received_at for it in received} == {lane.clock.now()}


def test_nothing_to_send_is_sent(lane: Lane, receive: Receive) -> None:
    assert lane.queue.send([]).accepted == frozenset()
    assert receive() == []
    lane.queue.delete([])


def test_a_receive_hands_out_no_more_than_asked(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch(number) for number in range(3)])

    assert len(receive(limit=2)) == 2
    assert len(receive(limit=2)) == 1


def test_a_received_message_comes_again_with_its_count(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch()])

    [first] = receive(visibility_seconds=0)
    [second] = receive(visibility_seconds=0)

    assert (first.receive_count, second.receive_count) == (1, 2)
    assert first.message_id == second.message_id
    assert first.dispatch == second.dispatch == make_dispatch()


def test_a_received_message_is_hidden(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch()])

    assert len(receive()) == 1
    assert receive() == []


def test_deleted_messages_do_not_come_again(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch(number) for number in range(12)])
    received = [*receive(visibility_seconds=60), *receive(visibility_seconds=60)]

    lane.queue.delete([*received, *received])
    for delivery in received:
        lane.queue.hide(delivery, seconds=0)

    assert receive() == []


def test_a_message_is_shown_again_when_it_is_no_longer_hidden(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch()])
    [delivery] = receive()

    lane.queue.hide(delivery, seconds=0)

    assert len(receive()) == 1


@pytest.mark.parametrize("seconds", [1_000_000, 43_200, 60])
def test_a_message_may_be_hidden_longer(lane: Lane, receive: Receive, seconds: int) -> None:
    lane.queue.send([make_dispatch()])
    [delivery] = receive()

    lane.queue.hide(delivery, seconds=seconds)

    assert receive() == []


def test_many_messages_are_hidden_and_shown_together(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch(number) for number in range(12)])
    received = [*receive(visibility_seconds=60), *receive(visibility_seconds=60)]

    lane.queue.hide_all([*received, *received], seconds=0)
    assert len([*receive(visibility_seconds=60), *receive(visibility_seconds=60)]) == 12

    # Stale by now: neither a failure nor a change.
    lane.queue.hide_all(received, seconds=0)
    assert receive() == []


def test_a_stale_handle_is_no_failure_and_deletes_nothing(lane: Lane, receive: Receive) -> None:
    lane.queue.send([make_dispatch()])
    [stale] = receive(visibility_seconds=0)
    [current] = receive(visibility_seconds=60)

    lane.queue.delete([current])
    lane.queue.delete([stale])
    lane.queue.hide(stale, seconds=5)

    assert receive() == []


@pytest.mark.parametrize("body", ["", "no json", "[]", "{}", json.dumps({"v": 99}), json.dumps({"v": 1})][1:])
def test_an_unreadable_body_is_kept_and_has_no_dispatch(lane: Lane, receive: Receive, body: str) -> None:
    lane.put(body)

    [delivery] = receive()

    assert delivery.dispatch is None
    assert delivery.body == body


def test_a_dispatch_of_the_next_version_is_read(lane: Lane, receive: Receive) -> None:
    lane.put(json.dumps({**json.loads(encode(make_dispatch())), "v": 2, "new": True}))

    assert [delivery.dispatch for delivery in receive()] == [make_dispatch()]


HEADER = "Root=1-67449d80-5f84c0a1b2c3d4e5f6a7b8c9;Parent=53995c3f42cd8ad8;Sampled=1"


def test_where_a_dispatch_is_traced_arrives_with_it() -> None:
    queue = MemoryDueQueue(ManualClock())
    queue.send([make_dispatch(run_id="traced", trace=HEADER), make_dispatch(run_id="untraced")])

    arrived = [delivery.dispatch for delivery in queue.receive(limit=10, wait_seconds=0, visibility_seconds=60)]
    assert {each.run_id: each.trace for each in arrived if each} == {"traced": HEADER, "untraced": None}


@pytest.mark.emulator
def test_sqs_is_told_where_a_dispatch_is_traced_and_tells_it_again(sqs: Any, queue_url: str) -> None:
    """In two halves, for the emulator drops the header from what is sent in batches."""
    sent: list[dict[str, Any]] = []
    sqs.meta.events.register("provide-client-params.sqs.SendMessageBatch", lambda params, **_: sent.append(params))
    queue = SqsDueQueue(sqs, queue_url, Calls(ManualClock(), SeededRandomness()))
    attributes = {"AWSTraceHeader": {"DataType": "String", "StringValue": HEADER}}

    queue.send([make_dispatch(run_id="traced", trace=HEADER), make_dispatch(run_id="untraced")])
    first, second = sent[0]["Entries"]
    sqs.send_message(
        QueueUrl=queue_url, MessageBody=encode(make_dispatch(run_id="alone")), MessageSystemAttributes=attributes
    )
    arrived = [delivery.dispatch for delivery in queue.receive(limit=10, wait_seconds=0, visibility_seconds=60)]

    assert first["MessageSystemAttributes"] == attributes
    assert "MessageSystemAttributes" not in second
    assert {each.run_id: each.trace for each in arrived if each}["alone"] == HEADER
