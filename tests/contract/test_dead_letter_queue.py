from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import sqs_client
from shared.adapters.memory import ManualClock, MemoryDeadLetterQueue, SeededRandomness
from shared.adapters.sqs import SqsDeadLetterQueue
from shared.domain.errors import OutcomeUnknown
from shared.ports import DeadLetter, DeadLetterQueue
from tests.contract.faults import LOST, Faults, Step
from tests.emulator import aws_environment

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def faults(emulator_endpoint: str) -> Iterator[tuple[SQSClient, Faults]]:
    with aws_environment(emulator_endpoint):
        client = sqs_client()
    yield client, Faults(client)
    client.close()


def queue_of(sqs: SQSClient, url: str) -> SqsDeadLetterQueue:
    return SqsDeadLetterQueue(sqs, url, Calls(ManualClock(), SeededRandomness()))


def received(sqs: SQSClient, url: str) -> list[Any]:
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    return list(answer.get("Messages", []))


@pytest.mark.emulator
def test_a_letter_keeps_its_body_and_tells_its_cause(sqs: SQSClient, queue_url: str) -> None:
    queue_of(sqs, queue_url).send(
        [DeadLetter('{"v":1}', "http_5xx", "failed at attempt 3"), DeadLetter("x", "timeout")]
    )

    letters = {
        each["Body"]: {name: value["StringValue"] for name, value in each["MessageAttributes"].items()}
        for each in received(sqs, queue_url)
    }
    assert letters == {'{"v":1}': {"Cause": "http_5xx", "Detail": "failed at attempt 3"}, "x": {"Cause": "timeout"}}


@pytest.mark.emulator
def test_what_sqs_cannot_carry_is_replaced(sqs: SQSClient, queue_url: str) -> None:
    queue_of(sqs, queue_url).send([DeadLetter("x", "Err\uffff", "\x07")])

    [letter] = received(sqs, queue_url)
    assert letter["MessageAttributes"]["Cause"]["StringValue"] == "Err?"


@dataclass(frozen=True)
class Kept:
    queue: DeadLetterQueue
    bodies: Callable[[], list[str]]


@pytest.fixture
def in_memory() -> Kept:
    queue = MemoryDeadLetterQueue()
    return Kept(queue, lambda: [letter.body for letter in queue.letters])


@pytest.fixture
def in_sqs(sqs: SQSClient, queue_url: str) -> Kept:
    return Kept(queue_of(sqs, queue_url), lambda: [each["Body"] for _ in range(2) for each in received(sqs, queue_url)])


@pytest.mark.parametrize("kept", ["in_memory", pytest.param("in_sqs", marks=pytest.mark.emulator)])
def test_each_letter_of_more_than_a_batch_is_kept(request: pytest.FixtureRequest, kept: str) -> None:
    letters: Kept = request.getfixturevalue(kept)
    bodies = [str(number) for number in range(13)]

    letters.queue.send([DeadLetter(body, "c") for body in bodies])
    letters.queue.send([])

    assert sorted(letters.bodies()) == sorted(bodies)


@pytest.mark.emulator
def test_part_of_a_batch_is_sent_again(faults: tuple[SQSClient, Faults], queue_url: str) -> None:
    client, script = faults

    def lose_one(answer: dict[str, Any]) -> None:
        answer["Successful"] = [each for each in answer["Successful"] if each["Id"] != "1"]

    script.script("SendMessageBatch", Step(answer=lose_one))
    queue_of(client, queue_url).send([DeadLetter(str(number), "c") for number in range(3)])

    assert sorted(each["Body"] for each in received(client, queue_url)) == ["0", "1", "1", "2"]


@pytest.mark.emulator
def test_what_is_never_answered_is_named_unknown(faults: tuple[SQSClient, Faults], queue_url: str) -> None:
    client, script = faults
    script.script("SendMessageBatch", LOST, LOST, LOST)

    with pytest.raises(OutcomeUnknown):
        queue_of(client, queue_url).send([DeadLetter("x", "c")])
