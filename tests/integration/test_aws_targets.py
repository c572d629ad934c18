"""Targets of types lambda and aws, and secrets, against real services of the emulator."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from threading import Thread
from typing import Any

import boto3
import pytest

from functions.worker.targets import Call, Outcome, Target, waited
from functions.worker.targets.aws_api import AwsApiTarget
from functions.worker.targets.lambda_function import LambdaTarget
from functions.worker.targets.secrets import SecretRef, Secrets
from shared.adapters.aws.api import SESSION_SECONDS, BotoAwsApi
from shared.adapters.memory import ManualClock
from shared.domain.errors import OutcomeUnknown, WriteRefused
from shared.domain.run import RunStatus
from shared.domain.targets import parse_target
from shared.ports.aws_api import AwsCall, Role
from tests.counterparts import REGION, Counterparts
from tests.emulator import aws_environment
from tests.unit.worker.webhooks import call_of

pytestmark = pytest.mark.emulator

_numbers = count(1)
MESSAGE = {"QueueUrl": "http://127.0.0.1/000000000000/q", "MessageBody": "1"}


@pytest.fixture
def aws(emulator_endpoint: str) -> Iterator[Counterparts]:
    client: Any = boto3.client
    with aws_environment(emulator_endpoint):
        yield Counterparts(client, f"try-{next(_numbers)}")


@pytest.fixture
def api() -> BotoAwsApi:
    return BotoAwsApi(ManualClock())


def run(target: Target, document: dict[str, Any], payload: Any = None) -> Outcome:
    return waited(target.call(call_to(document, payload)))


def call_to(document: dict[str, Any], payload: Any = None) -> Call:
    return call_of(parse_target(document), payload=payload)


def aws_target(service: str, operation: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "aws", "service": service, "operation": operation, "parameters": parameters}


def test_a_message_is_sent_to_a_queue(aws: Counterparts, api: BotoAwsApi) -> None:
    url = aws.queue()
    target = AwsApiTarget(api, region=REGION)

    first = run(target, aws_target("sqs", "SendMessage", QueueUrl=url), {"n": 1})
    second = run(target, aws_target("sqs", "SendMessage", QueueUrl=url, MessageBody="{{run_id}} {{fencing_token}}"))

    assert first.status is second.status is RunStatus.SUCCEEDED
    assert first.completion == "accepted"
    assert first.output
    assert aws.messages(url) == ['{"n":1}', "20261127T013000000Z 3"]


def test_a_message_is_published_to_a_topic(aws: Counterparts, api: BotoAwsApi) -> None:
    url = aws.queue()

    outcome = run(AwsApiTarget(api, region=REGION), aws_target("sns", "Publish", TopicArn=aws.topic(url)), ["hello"])

    assert outcome.completion == "accepted"
    assert outcome.output
    assert aws.messages(url) == ['["hello"]']


def test_an_event_is_put_on_a_bus(aws: Counterparts, api: BotoAwsApi) -> None:
    url = aws.queue()
    entry = {"EventBusName": aws.bus(url), "Source": "carillon.test", "DetailType": "{{job_id}} fired"}

    outcome = run(AwsApiTarget(api, region=REGION), aws_target("events", "PutEvents", Entries=[entry]), {"n": 2})

    assert outcome.completion == "accepted"
    assert outcome.output
    [body] = aws.messages(url)
    event = json.loads(body)
    assert (event["detail-type"], event["detail"]) == ("nightly fired", {"n": 2})


def test_an_execution_is_started(aws: Counterparts, api: BotoAwsApi) -> None:
    arn = aws.state_machine()

    outcome = run(
        AwsApiTarget(api, region=REGION),
        aws_target("states", "StartExecution", stateMachineArn=arn, name="{{run_id}}-{{attempt}}"),
        {"n": 3},
    )

    assert outcome.completion == "accepted", outcome
    execution = aws.client("stepfunctions").describe_execution(executionArn=outcome.output)
    assert (execution["name"], json.loads(execution["input"])) == ("20261127T013000000Z-2", {"n": 3})


def test_a_task_is_run(aws: Counterparts, api: BotoAwsApi) -> None:
    cluster, definition = aws.task_definition()

    outcome = run(
        AwsApiTarget(api, region=REGION),
        aws_target(
            "ecs", "RunTask", cluster=cluster, taskDefinition=definition, launchType="FARGATE", startedBy="{{job_id}}"
        ),
    )

    assert outcome.completion == "accepted", outcome
    assert outcome.output in aws.client("ecs").list_tasks(cluster=cluster)["taskArns"]


def test_a_function_answers_or_accepts_or_raises(aws: Counterparts, api: BotoAwsApi) -> None:
    document = {"type": "lambda", "function_arn": aws.function()}
    target = LambdaTarget(api)

    answered = run(target, document, {"n": 4})
    raised = run(target, document, {"raise": "missing"})
    accepted = run(target, {**document, "invocation": "async"}, {"n": 5})

    assert (answered.completion, json.loads(answered.output or "")) == ("done", {"heard": {"n": 4}})
    assert raised.status is RunStatus.FAILED
    assert raised.error is not None
    assert raised.error.type, "the emulator says another type than AWS, which says KeyError"
    assert raised.error.message == "'missing'"
    assert (accepted.status, accepted.completion) == (RunStatus.SUCCEEDED, "accepted")


def test_what_is_not_there_is_refused_and_says_what_aws_says(aws: Counterparts, api: BotoAwsApi) -> None:
    url = f"{aws.queue().rpartition('/')[0]}/nowhere"

    outcome = run(AwsApiTarget(api, region=REGION), aws_target("sqs", "SendMessage", QueueUrl=url), 1)

    assert outcome.status is RunStatus.FAILED
    assert outcome.error is not None
    assert outcome.error.type == "refused"
    assert "NonExistentQueue" in outcome.error.message


def test_a_parameter_of_the_wrong_kind_is_refused_before_it_is_sent(aws: Counterparts, api: BotoAwsApi) -> None:
    document = aws_target("sqs", "SendMessage", QueueUrl=aws.queue(), DelaySeconds="soon")

    outcome = run(AwsApiTarget(api, region=REGION), document, 1)

    assert outcome.error is not None
    assert outcome.error.type == "refused"
    assert "DelaySeconds" in outcome.error.message


def test_a_call_under_a_role_assumes_it_once_an_hour(aws: Counterparts) -> None:
    clock = ManualClock()
    api = BotoAwsApi(clock)
    role = aws.client("iam").create_role(RoleName=f"{aws.prefix}-role", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    call = AwsCall("sts", "GetCallerIdentity", {}, region=REGION, timeout_ms=1_000, role=Role(role, "acme"))

    arns = {api.call(call)["Arn"] for _ in range(3)}
    assert arns == {f"{role.replace(':iam:', ':sts:').replace(':role/', ':assumed-role/')}/carillon-acme"}
    first = api._client_for(call)
    assert api._client_for(call) is first
    assert api._client_for(replace(call, role=Role(role, "other"))) is not first
    clock.advance(SESSION_SECONDS * 1000)
    assert api._client_for(call) is not first


@pytest.mark.usefixtures("aws")
def test_a_role_that_is_not_given_is_certainly_no_call(api: BotoAwsApi) -> None:
    call = AwsCall("sts", "GetCallerIdentity", {}, region=REGION, timeout_ms=1_000, role=Role("no-role", "acme"))

    with pytest.raises(WriteRefused):
        api.call(call)


@pytest.mark.usefixtures("aws")
def test_a_call_that_reaches_nobody_was_certainly_not_made() -> None:
    nobody = BotoAwsApi(ManualClock(), endpoint_url="http://127.0.0.1:9")

    with pytest.raises(WriteRefused):
        nobody.call(AwsCall("sqs", "SendMessage", MESSAGE, region=REGION, timeout_ms=1_000))


@pytest.mark.usefixtures("aws")
def test_a_call_that_was_sent_and_not_answered_is_perhaps_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            accepted, _ = listener.accept()
            with accepted:
                accepted.recv(1)

        thread = Thread(target=hang_up, daemon=True)
        thread.start()
        silent = BotoAwsApi(ManualClock(), endpoint_url=f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(OutcomeUnknown):
            silent.call(AwsCall("sqs", "SendMessage", MESSAGE, region=REGION, timeout_ms=1_000))
        thread.join(timeout=10)


def test_a_secret_is_read_and_remembered(aws: Counterparts) -> None:
    arn = aws.secret("s3cret")
    clock = ManualClock()
    secrets = Secrets(BotoAwsApi(clock), clock)

    assert secrets.text_of(SecretRef(arn, None)) == "s3cret"
    aws.client("secretsmanager").put_secret_value(SecretId=arn, SecretString="rotated")
    assert secrets.text_of(SecretRef(arn, None)) == "s3cret"
    clock.advance(300_000)
    assert secrets.text_of(SecretRef(arn, None)) == "rotated"
