"""Targets as they are asked for: what is filled in, what is refused, and what needs a grant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.domain.errors import InvalidRequest
from shared.domain.grants import AWS, HTTP, LAMBDA, SECRET, Use
from shared.domain.targets import parse_target, uses_of
from shared.domain.targets.auth import UnusableSecret, header_of
from shared.domain.targets.aws_actions import ACTIONS
from shared.domain.targets.aws_api import action_of, arn_of, region_of, with_payload
from shared.domain.targets.successes import is_success, parse_success

QUEUE = "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"
TOPIC = "arn:aws:sns:eu-central-1:123456789012:orders"
BUS = "arn:aws:events:eu-central-1:123456789012:event-bus/orders"
MACHINE = "arn:aws:states:eu-central-1:123456789012:stateMachine:orders"
CLUSTER = "arn:aws:ecs:eu-central-1:123456789012:cluster/orders"
TASK = "arn:aws:ecs:eu-central-1:123456789012:task-definition/orders:7"
FUNCTION = "arn:aws:lambda:eu-central-1:123456789012:function:report"
SECRET_ARN = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:hook-AbCdEf"
ENTRY = {"EventBusName": BUS, "Source": "acme", "DetailType": "fired"}


def aws(called: str, /, **parameters: Any) -> dict[str, Any]:
    service, operation = called.split(".")
    return {"type": "aws", "service": service, "operation": operation, "parameters": parameters}


GOOD = [
    aws("sqs.SendMessage", QueueUrl=QUEUE),
    aws("sqs.SendMessage", QueueUrl=f"{QUEUE}.fifo", MessageBody="{{slot}}", MessageGroupId="{{job_id}}"),
    aws("sns.Publish", TopicArn=TOPIC, Message="hello"),
    aws("events.PutEvents", Entries=[ENTRY, ENTRY | {"Detail": '{"run": "{{run_id}}"}'}]),
    aws("states.StartExecution", stateMachineArn=MACHINE, name="{{run_id}}"),
    aws("ecs.RunTask", cluster=CLUSTER, taskDefinition=TASK, overrides={"containerOverrides": []}),
]


@pytest.mark.parametrize("document", GOOD, ids=lambda each: f"{each['service']}.{each['operation']}")
def test_a_call_on_the_list_is_taken_as_it_is(document: dict[str, Any]) -> None:
    assert parse_target(document) == document | {"templates": True}


def test_every_call_on_the_list_has_been_tried_here() -> None:
    assert {f"{each['service']}.{each['operation']}" for each in GOOD} == set(ACTIONS)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ({"type": "aws"}, "#/service"),
        (aws("s3.DeleteBucket", Bucket="b"), "#/service"),
        (aws("sqs.DeleteQueue", QueueUrl=QUEUE), "#/operation"),
        ({**aws("sqs.SendMessage"), "parameters": None}, "#/parameters"),
        (aws("sqs.SendMessage"), "#/parameters/QueueUrl"),
        (aws("sqs.SendMessage", QueueUrl=""), "#/parameters/QueueUrl"),
        (aws("sqs.SendMessage", QueueUrl="http://169.254.169.254/latest"), "#/parameters/QueueUrl"),
        (aws("sqs.SendMessage", QueueUrl=f"{QUEUE}-{{{{job_id}}}}"), "#/parameters/QueueUrl"),
        (aws("sqs.SendMessage", QueueUrl=TOPIC), "#/parameters/QueueUrl"),
        (aws("sqs.SendMessage", QueueUrl=QUEUE, MessageBody="{{slots}}"), "#/parameters/MessageBody"),
        (aws("sqs.SendMessage", QueueUrl=QUEUE, messageBody="x"), "#/parameters/messageBody"),
        (aws("sqs.SendMessage", QueueUrl=QUEUE, MessageSystemAttributes={}), "#/parameters/MessageSystemAttributes"),
        (aws("sns.Publish", TopicArn=TOPIC, PhoneNumber="+49"), "#/parameters/PhoneNumber"),
        (aws("events.PutEvents", Entries=[]), "#/parameters/Entries"),
        (aws("events.PutEvents", Entries=[ENTRY] * 11), "#/parameters/Entries"),
        (aws("events.PutEvents", Entries=["x"]), "#/parameters/Entries/0"),
        (
            aws("events.PutEvents", Entries=[{**ENTRY, "EventBusName": "default"}]),
            "#/parameters/Entries/0/EventBusName",
        ),
        (aws("events.PutEvents", Entries=[ENTRY, {"EventBusName": BUS}]), "#/parameters/Entries/1/Source"),
        (aws("events.PutEvents", Entries=[{**ENTRY, "Details": "{}"}]), "#/parameters/Entries/0/Details"),
        (aws("ecs.RunTask", cluster=CLUSTER), "#/parameters/taskDefinition"),
        (aws("ecs.RunTask", cluster="orders", taskDefinition=TASK), "#/parameters/cluster"),
        (
            aws(
                "ecs.RunTask", cluster=CLUSTER, taskDefinition=TASK, overrides={"taskRoleArn": "arn:aws:iam::1:role/r"}
            ),
            "#/parameters/overrides/taskRoleArn",
        ),
        ({"type": "lambda"}, "#/function_arn"),
        ({"type": "lambda", "function_arn": "report"}, "#/function_arn"),
        ({"type": "lambda", "function_arn": f"{FUNCTION}-{{{{job_id}}}}"}, "#/function_arn"),
        ({"type": "lambda", "function_arn": FUNCTION, "invocation": "later"}, "#/invocation"),
        ({"type": "lambda", "function_arn": FUNCTION, "qualifier": "live"}, "#/qualifier"),
    ],
    ids=lambda value: json.dumps(value)[:70],
)
def test_what_cannot_be_called_is_refused_by_its_place(document: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_target(document)

    assert pointer in [problem.pointer for problem in raised.value.problems], raised.value


RUN_TASK = {
    "overrides": {
        "containerOverrides": [
            {"name": "main", "command": ["sh", "-c"], "environment": [{"name": "RUN", "value": "1"}]}
        ],
        "cpu": "256",
    },
    "networkConfiguration": {"awsvpcConfiguration": {"subnets": ["subnet-1"]}},
    "count": 2,
    "startedBy": "{{run_id}}",
}


def test_what_a_task_runs_and_where_is_asked_of_the_grant_of_its_definition() -> None:
    target = parse_target(aws("ecs.RunTask", cluster=CLUSTER, taskDefinition=TASK, **RUN_TASK))

    cluster, definition = uses_of(target, region="eu-central-1")

    assert cluster.members == ()
    assert sorted(definition.members) == [
        ("count", "2"),
        ("networkConfiguration.awsvpcConfiguration.subnets[]", "subnet-1"),
        ("overrides.containerOverrides[].command[]", "-c"),
        ("overrides.containerOverrides[].command[]", "sh"),
        ("overrides.containerOverrides[].environment[].name", "RUN"),
        ("overrides.containerOverrides[].environment[].value", "1"),
        ("overrides.cpu", "256"),
    ]


def test_what_is_called_is_the_same_for_every_run() -> None:
    with pytest.raises(InvalidRequest, match="holds no placeholder"):
        parse_target(aws("sqs.SendMessage", QueueUrl=f"{QUEUE}-{{{{job_id}}}}"))


def test_each_kind_of_target_says_what_it_calls() -> None:
    region = "eu-central-1"
    auth = {"secret_ref": SECRET_ARN}

    assert uses_of(parse_target({"type": "handler", "name": "echo"}), region=region) == ()
    assert uses_of(parse_target({"type": "lambda", "function_arn": f"{FUNCTION}:live"}), region=region) == (
        Use(LAMBDA, f"{FUNCTION}:live", "#/function_arn"),
    )
    assert uses_of(parse_target({"type": "http", "url": "https://Hooks.Example.com:8443/x"}), region=region) == (
        Use(HTTP, "hooks.example.com", "#/url"),
    )
    assert uses_of(parse_target({"type": "http", "url": "https://[::1]/", "auth": auth}), region=region) == (
        Use(HTTP, "[::1]", "#/url"),
        Use(SECRET, SECRET_ARN, "#/auth/secret_ref", host="[::1]"),
    )
    assert uses_of(parse_target(GOOD[5]), region=region) == (
        Use(AWS, CLUSTER, "#/parameters/cluster"),
        Use(AWS, TASK, "#/parameters/taskDefinition"),
    )
    assert uses_of(parse_target(GOOD[3]), region=region) == (
        Use(AWS, BUS, "#/parameters/Entries/0/EventBusName"),
        Use(AWS, BUS, "#/parameters/Entries/1/EventBusName"),
    )


@pytest.mark.parametrize(
    ("url", "arn"),
    [
        (QUEUE, "arn:aws:sqs:eu-west-1:123456789012:orders"),
        ("http://127.0.0.1:4566/000000000000/q", "arn:aws:sqs:eu-central-1:000000000000:q"),
        ("https://sqs.cn-north-1.amazonaws.com.cn/123456789012/q", "arn:aws-cn:sqs:cn-north-1:123456789012:q"),
        ("https://sqs.us-gov-west-1.amazonaws.com/123456789012/q", "arn:aws-us-gov:sqs:us-gov-west-1:123456789012:q"),
        ("https://sqs.eu-west-1.amazonaws.com/123456789012/q/../other", None),
        ("https://sqs.eu-west-1.amazonaws.com/q", None),
        ("ftp://sqs.eu-west-1.amazonaws.com/123456789012/q", None),
        ("orders", None),
        ("http://[", None),
    ],
)
def test_the_url_of_a_queue_means_its_arn(url: str, arn: str | None) -> None:
    assert arn_of(url, "eu-central-1") == arn


def test_a_call_goes_to_the_region_of_what_it_names() -> None:
    assert region_of(parse_target(GOOD[0]), "eu-central-1") == "eu-west-1"
    assert region_of(parse_target(GOOD[2]), "us-east-1") == "eu-central-1"


def test_the_payload_goes_where_the_parameters_leave_room() -> None:
    def sent(document: dict[str, Any], payload: Any) -> dict[str, Any]:
        return with_payload(action_of(document), document["parameters"], payload)

    assert sent(GOOD[0], {"ü": 1}) == {"QueueUrl": QUEUE, "MessageBody": '{"ü":1}'}
    assert sent(GOOD[2], {"n": 1})["Message"] == "hello"
    assert sent(GOOD[0], None) == {"QueueUrl": QUEUE}
    assert [entry["Detail"] for entry in sent(GOOD[3], {})["Entries"]] == ["{}", '{"run": "{{run_id}}"}']
    assert "Detail" not in GOOD[3]["parameters"]["Entries"][0], "what is stored stays as it is"


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("2xx", [200, 204, 299], [199, 300, 404]),
        ("200", [200], [201]),
        ("200-204", [200, 204], [205]),
        ("2xx, 404", [200, 404], [403]),
        ("200-200,3xx", [200, 301], [201]),
    ],
)
def test_success_is_what_the_job_says(text: str, yes: list[int], no: list[int]) -> None:
    assert all(is_success(text, status) for status in yes)
    assert not any(is_success(text, status) for status in no)


@pytest.mark.parametrize(
    "text", ["", "ok", "6xx", "99", "600", "204-200", "2xx,", ",", "2xx-3xx", "200 - 204", None, 200]
)
def test_what_says_no_statuses_is_refused(text: object) -> None:
    assert parse_success(text) is None


@pytest.mark.parametrize(
    ("auth", "secret", "header"),
    [
        ({"scheme": "bearer"}, "t0ken\n", ("Authorization", "Bearer t0ken")),
        ({"scheme": "bearer", "key": "api"}, '{"api": "t0ken"}', ("Authorization", "Bearer t0ken")),
        ({"scheme": "header", "header": "X-Api-Key"}, "t0ken", ("X-Api-Key", "t0ken")),
        ({"scheme": "basic"}, "user:pass word", ("Authorization", "Basic dXNlcjpwYXNzIHdvcmQ=")),
        ({"scheme": "basic"}, '{"username": "user", "password": "ü"}', ("Authorization", "Basic dXNlcjrDvA==")),
    ],
)
def test_a_secret_becomes_the_header_of_its_scheme(auth: dict[str, Any], secret: str, header: tuple[str, str]) -> None:
    assert header_of(auth, secret) == header


@pytest.mark.parametrize(
    ("auth", "secret"),
    [
        ({"scheme": "bearer"}, ""),
        ({"scheme": "bearer"}, "s3cret\r\nX-Evil: 1"),
        ({"scheme": "header", "header": "X-Api-Key"}, "s3cr\u00e9t"),
        ({"scheme": "bearer", "key": "api"}, "s3cret"),
        ({"scheme": "bearer", "key": "api"}, '["s3cret"]'),
        ({"scheme": "bearer", "key": "api"}, '{"other": "s3cret"}'),
        ({"scheme": "basic"}, "s3cret"),
        ({"scheme": "basic"}, '{"username": "s3cret"}'),
    ],
)
def test_a_secret_of_another_form_is_refused_and_never_quoted(auth: dict[str, Any], secret: str) -> None:
    with pytest.raises(UnusableSecret) as raised:
        header_of(auth, secret)

    assert "s3cr" not in str(raised.value)


@pytest.mark.parametrize(
    ("auth", "pointer"),
    [
        ("s3cret", "#/auth"),
        ({}, "#/auth/secret_ref"),
        ({"secret_ref": "hook"}, "#/auth/secret_ref"),
        ({"secret_ref": SECRET_ARN, "scheme": "digest"}, "#/auth/scheme"),
        ({"secret_ref": SECRET_ARN, "scheme": "header"}, "#/auth/header"),
        ({"secret_ref": SECRET_ARN, "scheme": "header", "header": "Host"}, "#/auth/header"),
        ({"secret_ref": SECRET_ARN, "scheme": "header", "header": "webhook-id"}, "#/auth/header"),
        ({"secret_ref": SECRET_ARN, "header": "X-Api-Key"}, "#/auth/header"),
        ({"secret_ref": SECRET_ARN, "key": ""}, "#/auth/key"),
        ({"secret_ref": SECRET_ARN, "token": "t0ken"}, "#/auth/token"),
    ],
)
def test_an_auth_that_names_no_secret_is_refused(auth: object, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        parse_target({"type": "http", "url": "https://example.com/", "auth": auth})

    assert pointer in [problem.pointer for problem in raised.value.problems]


def test_an_auth_is_taken_with_its_defaults() -> None:
    document = {"type": "http", "url": "https://example.com/", "auth": {"secret_ref": SECRET_ARN}}

    assert parse_target(document)["auth"] == {"secret_ref": SECRET_ARN, "scheme": "bearer"}
    assert parse_target(parse_target(document)) == parse_target(document)
