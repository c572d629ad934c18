"""What becomes of the answers of AWS, and of those that do not come."""

from __future__ import annotations

import json
from typing import Any

import pytest

from functions.worker.targets import Outcome
from functions.worker.targets.aws_api import AwsApiTarget
from functions.worker.targets.lambda_function import LambdaTarget
from shared.domain.errors import OutcomeUnknown, StoreError, StoreThrottled, WriteRefused
from shared.domain.grants import AWS, LAMBDA
from shared.domain.limits import MAX_OUTPUT_BYTES
from shared.domain.run import RunStatus
from shared.domain.targets import parse_target
from tests.unit.worker.recorded_api import RecordedApi
from tests.unit.worker.webhooks import OWNER, REGION, call_of

FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:report:live"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
BUS = "arn:aws:events:eu-central-1:123456789012:event-bus/orders"
ENTRY = {"EventBusName": BUS, "Source": "acme", "DetailType": "fired"}
ECS = {
    "cluster": "arn:aws:ecs:eu-central-1:123456789012:cluster/c",
    "taskDefinition": "arn:aws:ecs:eu-central-1:123456789012:task-definition/t",
}
FAULTS = [
    (WriteRefused("x", "AccessDenied"), "refused"),
    (StoreThrottled("x", "Throttling"), "throttled"),
    (OutcomeUnknown("x", "no answer"), "outcome_unknown"),
]


def invoked(api: RecordedApi, invocation: str = "sync", payload: Any = None, **arguments: Any) -> Outcome:
    target = parse_target({"type": "lambda", "function_arn": FUNCTION, "invocation": invocation})
    return LambdaTarget(api).call(call_of(target, payload=payload, **arguments))


def called(api: RecordedApi, name: str, parameters: dict[str, Any], payload: Any = None, **arguments: Any) -> Outcome:
    service, operation = name.split(".")
    document = {"type": "aws", "service": service, "operation": operation, "parameters": parameters}
    return AwsApiTarget(api, region=REGION).call(call_of(parse_target(document), payload=payload, **arguments))


def error_of(outcome: Outcome) -> tuple[str, str]:
    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    return outcome.error.type, outcome.error.message


def test_a_function_is_called_with_the_payload_in_its_region_and_time() -> None:
    api = RecordedApi({"Payload": b'"done"'})

    outcome = invoked(api, payload={"n": "ü"}, timeout_ms=90_000, roles={LAMBDA: "arn:role"})

    assert (outcome.status, outcome.output, outcome.completion) == (RunStatus.SUCCEEDED, '"done"', "done")
    [call] = api.calls
    assert (call.client, call.operation, call.region, call.timeout_ms) == ("lambda", "Invoke", "eu-west-1", 90_000)
    assert call.role is not None
    assert (call.role.role_arn, call.role.external_id) == ("arn:role", OWNER)
    assert call.parameters["InvocationType"] == "RequestResponse"
    assert json.loads(call.parameters["Payload"]) == {"n": "ü"}


@pytest.mark.parametrize("invocation", ["sync", "async"])
def test_a_function_without_a_payload_is_given_none(invocation: str) -> None:
    """AWS makes an empty object of it, which most functions expect, and null of the JSON text `null`."""
    api = RecordedApi({})

    invoked(api, invocation)

    assert "Payload" not in api.calls[0].parameters


def test_an_asynchronous_function_has_only_accepted() -> None:
    api = RecordedApi({"ResponseMetadata": {"RequestId": "id-1"}})

    outcome = invoked(api, "async")

    assert (outcome.status, outcome.output, outcome.completion) == (RunStatus.SUCCEEDED, "id-1", "accepted")
    assert api.calls[0].parameters["InvocationType"] == "Event"
    assert api.calls[0].role is None


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b'{"errorType": "KeyError", "errorMessage": "missing"}', ("KeyError", "missing")),
        (
            b'{"errorMessage": "Task timed out after 3.00 seconds"}',
            ("function_error", "Task timed out after 3.00 seconds"),
        ),
        (b"[]", ("function_error", "[]")),
        (b"\xff", ("function_error", "\ufffd")),
    ],
)
def test_a_function_that_raises_fails_under_its_own_name(payload: bytes, expected: tuple[str, str]) -> None:
    assert error_of(invoked(RecordedApi({"FunctionError": "Unhandled", "Payload": payload}))) == expected


def test_a_long_answer_is_not_kept_whole() -> None:
    outcome = invoked(RecordedApi({"Payload": b"x" * 1_000_000}))

    assert outcome.output is not None
    assert len(outcome.output) == MAX_OUTPUT_BYTES + 1


@pytest.mark.parametrize(("fault", "word"), FAULTS, ids=str)
def test_a_call_without_an_answer_is_named_by_what_is_known_of_it(fault: StoreError, word: str) -> None:
    for outcome in (invoked(RecordedApi(fault)), called(RecordedApi(fault), "sqs.SendMessage", {"QueueUrl": QUEUE})):
        assert error_of(outcome)[0] == word
        assert not outcome.is_permanent
    assert ("perhaps" in error_of(outcome)[1]) == (word == "outcome_unknown")


def test_parameters_are_filled_and_the_payload_is_put_in_place() -> None:
    api = RecordedApi({"MessageId": "m-1"})
    attributes = {"token": {"DataType": "Number", "StringValue": "{{fencing_token}}"}}

    outcome = called(
        api,
        "sqs.SendMessage",
        {"QueueUrl": QUEUE, "MessageAttributes": attributes},
        {"n": 1},
        roles={AWS: "arn:role"},
    )

    assert (outcome.output, outcome.completion) == ("m-1", "accepted")
    [call] = api.calls
    assert (call.client, call.operation, call.region) == ("sqs", "SendMessage", "eu-west-1")
    assert call.parameters["MessageBody"] == '{"n":1}'
    assert call.parameters["MessageAttributes"]["token"]["StringValue"] == "3"
    assert call.role is not None
    assert "3" not in repr(call.parameters["QueueUrl"].rpartition("/")[2])
    assert "MessageBody" not in repr(call), "what is sent reaches no log"


def test_several_ids_are_a_list() -> None:
    api = RecordedApi({"FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}, {"EventId": "e-2"}]})

    assert called(api, "events.PutEvents", {"Entries": [ENTRY, ENTRY]}).output == '["e-1", "e-2"]'


@pytest.mark.parametrize(
    ("name", "parameters", "answer", "expected", "output"),
    [
        (
            "events.PutEvents",
            {"Entries": [ENTRY, ENTRY]},
            {"Entries": [{"EventId": "e-1"}, {"ErrorCode": "InternalFailure"}]},
            ("refused", "InternalFailure"),
            "e-1",
        ),
        (
            "events.PutEvents",
            {"Entries": [ENTRY]},
            {"Entries": [{"ErrorCode": "ThrottlingException"}]},
            ("throttled", "ThrottlingException"),
            None,
        ),
        (
            "ecs.RunTask",
            ECS,
            {"tasks": [], "failures": [{"reason": "RESOURCE:MEMORY"}]},
            ("throttled", "RESOURCE"),
            None,
        ),
        ("ecs.RunTask", ECS, {"tasks": [], "failures": [{"reason": "INACTIVE"}]}, ("refused", "INACTIVE"), None),
    ],
)
def test_an_answer_that_refuses_a_part_is_no_success(
    name: str, parameters: dict[str, Any], answer: dict[str, Any], expected: tuple[str, str], output: str | None
) -> None:
    outcome = called(RecordedApi(answer), name, parameters)

    word, message = error_of(outcome)
    assert (word, outcome.output) == (expected[0], output)
    assert expected[1] in message


@pytest.mark.parametrize("kind", [WriteRefused, OutcomeUnknown])
def test_a_refusal_says_what_was_not_allowed_and_names_no_role_of_the_deployment(kind: type[StoreError]) -> None:
    said = (
        "AccessDenied: User: arn:aws:sts::111122223333:assumed-role/carillon-prod-WorkerRole-AB12/worker is not "
        f"authorized to perform: lambda:InvokeFunction on resource: {FUNCTION}"
    )

    _, message = error_of(invoked(RecordedApi(kind("lambda.Invoke", said))))

    assert "WorkerRole" not in message
    assert "111122223333" not in message
    assert f"not authorized to perform: lambda:InvokeFunction on resource: {FUNCTION}" in message
