"""A 200 of SQS is no success: only what stands in `Successful` is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import sqs_client
from shared.adapters.memory import ManualClock, SeededRandomness
from shared.adapters.sqs import SqsDueQueue
from shared.domain.errors import OutcomeUnknown, StoreThrottled, WriteRefused
from tests.contract.faults import LOST, UNSENT, Faults, Step, refused
from tests.contract.values import make_dispatch
from tests.emulator import aws_environment

pytestmark = pytest.mark.emulator

Lane = tuple[SqsDueQueue, Faults]
FOR_EVER = 40
DISPATCHES = [make_dispatch(number) for number in range(10)]


@pytest.fixture
def lane(emulator_endpoint: str, queue_url: str) -> Iterator[Lane]:
    with aws_environment(emulator_endpoint):
        client = sqs_client()
    yield SqsDueQueue(client, queue_url, Calls(ManualClock(), SeededRandomness())), Faults(client)
    client.close()


def failing(failed: dict[str, dict[str, Any]], unnamed: tuple[str, ...] = ()) -> Step:
    """These entries are not carried out; `unnamed` ones stand in neither list of the answer."""

    def drop(params: dict[str, Any]) -> None:
        params["Entries"] = [it for it in params["Entries"] if it["Id"] not in failed and it["Id"] not in unnamed]

    def tell(parsed: dict[str, Any]) -> None:
        parsed["Failed"] = [{"Id": entry, "Message": "on purpose", **fields} for entry, fields in failed.items()]

    return Step(request=drop, answer=tell)


def receive(queue: SqsDueQueue) -> list[Any]:
    return [
        delivery.dispatch
        for _ in range(3)
        for delivery in queue.receive(limit=10, wait_seconds=0, visibility_seconds=600)
    ]


def test_only_confirmed_entries_are_accepted(lane: Lane) -> None:
    queue, faults = lane
    failed = {
        "2": {"Code": "InternalError", "SenderFault": False},
        "5": {"Code": "InvalidMessageContents", "SenderFault": True},
        "7": {"Code": "RequestThrottled", "SenderFault": True},
    }
    faults.script("SendMessageBatch", failing(failed, unnamed=("9",)))

    report = queue.send(DISPATCHES)

    assert report.accepted == frozenset({0, 1, 3, 4, 6, 8})
    assert report.refused == {5: "InvalidMessageContents: on purpose"}
    assert len(receive(queue)) == 6


@pytest.mark.parametrize(
    "step",
    [LOST, UNSENT, refused("InternalError", 500), refused("ThrottlingException"), refused("RequestThrottled")],
)
def test_a_call_that_failed_leaves_its_entries_open_and_the_others_as_they_are(lane: Lane, step: Step) -> None:
    queue, faults = lane
    dispatches = [make_dispatch(number) for number in range(25)]
    faults.script("SendMessageBatch", Step(), step)

    report = queue.send(dispatches)

    assert report.accepted == frozenset([*range(10), *range(20, 25)])
    assert report.refused == {}
    assert len(faults.calls["SendMessageBatch"]) == 3


def test_a_queue_that_is_not_there_is_an_error(lane: Lane) -> None:
    queue, faults = lane
    faults.script("SendMessageBatch", refused("QueueDoesNotExist"))

    with pytest.raises(WriteRefused, match="QueueDoesNotExist"):
        queue.send(DISPATCHES)


def test_the_owner_is_the_group_of_a_message(lane: Lane) -> None:
    queue, faults = lane

    queue.send([make_dispatch(job_key="acme/job")])

    [call] = faults.calls["SendMessageBatch"]
    assert [entry["MessageGroupId"] for entry in call["Entries"]] == ["acme"]


def test_deletes_that_failed_are_made_again(lane: Lane) -> None:
    queue, faults = lane
    queue.send(DISPATCHES)
    deliveries = queue.receive(limit=10, wait_seconds=0, visibility_seconds=0)
    failed = {"1": {"Code": "InternalError"}, "2": {"Code": "RequestThrottled"}}
    faults.script("DeleteMessageBatch", failing(failed, unnamed=("5",)), LOST)

    queue.delete(deliveries)

    assert receive(queue) == []
    assert [len(call["Entries"]) for call in faults.calls["DeleteMessageBatch"]] == [10, 3, 3]


def test_deletes_that_never_succeed_are_an_error(lane: Lane) -> None:
    queue, faults = lane
    queue.send(DISPATCHES)
    deliveries = queue.receive(limit=10, wait_seconds=0, visibility_seconds=60)
    faults.script("DeleteMessageBatch", *[refused("RequestThrottled")] * FOR_EVER)

    with pytest.raises(StoreThrottled):
        queue.delete(deliveries)


@pytest.mark.parametrize(
    "step",
    [
        refused("ReceiptHandleIsInvalid"),
        refused("AWS.SimpleQueueService.MessageNotInflight"),
        Step(refusal={"Error": {"Code": "InvalidParameterValue", "Message": "for parameter ReceiptHandle is invalid"}}),
    ],
)
def test_every_spelling_of_a_stale_handle_is_no_failure(lane: Lane, step: Step) -> None:
    queue, faults = lane
    queue.send(DISPATCHES[:1])
    [delivery] = queue.receive(limit=1, wait_seconds=0, visibility_seconds=60)
    faults.script("ChangeMessageVisibility", step)

    queue.hide(delivery, seconds=1)


@pytest.mark.parametrize(("asked", "sent"), [(-5, 0), (0, 0), (1.9, 1), (43_200, 43_200), (10**9, 43_200)])
def test_a_message_is_hidden_within_what_sqs_allows(lane: Lane, asked: int, sent: int) -> None:
    queue, faults = lane
    queue.send(DISPATCHES[:1])
    [delivery] = queue.receive(limit=1, wait_seconds=0, visibility_seconds=60)

    queue.hide(delivery, seconds=asked)

    assert [call["VisibilityTimeout"] for call in faults.calls["ChangeMessageVisibility"]] == [sent]


def test_a_receive_without_an_answer_is_named_so(lane: Lane) -> None:
    queue, faults = lane
    faults.script("ReceiveMessage", LOST)

    with pytest.raises(OutcomeUnknown):
        queue.receive(limit=10, wait_seconds=0, visibility_seconds=60)
