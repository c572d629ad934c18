from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import events_client
from shared.adapters.eventbridge import BridgeEventBus
from shared.adapters.memory import ManualClock, MemoryEventBus, SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.events import Event, EventType
from shared.ports.event_bus import EventBus
from tests.contract.faults import Faults, Step, refused
from tests.contract.values import NOW
from tests.emulator import aws_environment

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


@pytest.fixture
def faulty(emulator_endpoint: str) -> Iterator[tuple[BridgeEventBus, Faults]]:
    with aws_environment(emulator_endpoint):
        client: Any = events_client()
    yield BridgeEventBus(client, "default", Calls(ManualClock(), SeededRandomness())), Faults(client)
    client.close()


def events(count: int) -> list[Event]:
    return [Event(EventType.RUN_SUCCEEDED, NOW, {"run_id": str(number)}) for number in range(count)]


@dataclass(frozen=True)
class Heard:
    """A bus, and what a listener hears of it."""

    bus: EventBus
    read: Callable[[], list[tuple[str, dict[str, Any]]]]


@pytest.fixture
def on_memory() -> Heard:
    bus = MemoryEventBus()
    return Heard(bus, lambda: [(event.type.value, dict(event.detail)) for event in bus.events])


@pytest.fixture
def on_eventbridge(emulator_endpoint: str, sqs: SQSClient, queue_url: str) -> Iterator[Heard]:
    with aws_environment(emulator_endpoint):
        client: Any = events_client()
    name = queue_url.rpartition("/")[2]
    arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    client.create_event_bus(Name=name)
    client.put_rule(Name=name, EventBusName=name, EventPattern=json.dumps({"source": ["carillon"]}))
    client.put_targets(Rule=name, EventBusName=name, Targets=[{"Id": "queue", "Arn": arn}])

    def read() -> list[tuple[str, dict[str, Any]]]:
        heard = []
        while messages := sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get(
            "Messages"
        ):
            for message in messages:
                body = json.loads(message["Body"])
                heard.append((body["detail-type"], body["detail"]))
                sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
        return heard

    yield Heard(BridgeEventBus(client, name, Calls(ManualClock(), SeededRandomness())), read)
    client.close()


@pytest.mark.parametrize("bus", ["on_memory", pytest.param("on_eventbridge", marks=pytest.mark.emulator)])
def test_a_listener_hears_each_event_with_its_type_and_detail(request: pytest.FixtureRequest, bus: str) -> None:
    heard: Heard = request.getfixturevalue(bus)
    told = [*events(12), Event(EventType.JOB_PAUSED, NOW, {"job_id": "j", "reason": None})]

    heard.bus.publish(told)
    heard.bus.publish([])

    expected = [(event.type.value, dict(event.detail)) for event in told]
    assert sorted(heard.read(), key=str) == sorted(expected, key=str)


def put(faults: Faults) -> list[list[str]]:
    """The ids of each call."""
    return [[json.loads(entry["Detail"])["run_id"] for entry in call["Entries"]] for call in faults.calls["PutEvents"]]


@pytest.mark.emulator
def test_events_are_put_by_tens(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty
    bus.publish(events(23))
    bus.publish([])

    assert [len(call) for call in put(faults)] == [10, 10, 3]
    entry = faults.calls["PutEvents"][0]["Entries"][0]
    assert (entry["Source"], entry["DetailType"], entry["EventBusName"]) == ("carillon", "run.succeeded", "default")


@pytest.mark.emulator
def test_what_was_not_taken_is_put_again_and_nothing_else(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty

    def fail_second(answer: dict[str, Any]) -> None:
        answer["Entries"][1] = {"ErrorCode": "ThrottlingException", "ErrorMessage": "on purpose"}

    faults.script("PutEvents", Step(answer=fail_second))
    bus.publish(events(3))

    assert put(faults) == [["0", "1", "2"], ["1"]]


@pytest.mark.emulator
def test_a_bus_that_refuses_is_told(faulty: tuple[BridgeEventBus, Faults]) -> None:
    bus, faults = faulty
    faults.script("PutEvents", refused("AccessDeniedException", 400))

    with pytest.raises(StoreError):
        bus.publish(events(1))
