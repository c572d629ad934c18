from __future__ import annotations

from infra.words import in_pascal_case
from shared import schema
from tests.infra.synthesis import Properties, Synthesis, only

DAY_SECONDS = 86_400


def queue_of(synthesis: Synthesis, output: str) -> tuple[str, Properties]:
    reference = synthesis.service.to_json()["Outputs"][output]["Value"]["Ref"]
    return reference, synthesis.of_type("AWS::SQS::Queue")[reference]


def test_each_lane_hands_what_cannot_be_worked_to_the_function_that_settles_it(prod: Synthesis) -> None:
    """B49."""
    assert schema.MAX_RECEIVE_COUNT >= 5
    undelivered, _ = queue_of(prod, "UndeliveredQueueUrl")
    for lane in map(in_pascal_case, schema.LANES):
        _, queue = queue_of(prod, f"{lane}QueueUrl")

        assert queue["RedrivePolicy"] == {
            "deadLetterTargetArn": {"Fn::GetAtt": [undelivered, "Arn"]},
            "maxReceiveCount": schema.MAX_RECEIVE_COUNT,
        }
    mapping = only(
        [
            each
            for each in prod.of_type("AWS::Lambda::EventSourceMapping").values()
            if each["EventSourceArn"] == {"Fn::GetAtt": [undelivered, "Arn"]}
        ]
    )
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_each_lane_has_dead_letters_of_its_own_that_only_people_empty(prod: Synthesis) -> None:
    fed_from = str([each["EventSourceArn"] for each in prod.of_type("AWS::Lambda::EventSourceMapping").values()])
    for lane in map(in_pascal_case, schema.LANES):
        dead_letters, _ = queue_of(prod, f"{lane}DeadLetterQueueUrl")
        assert dead_letters not in fed_from
    assert len(prod.of_type("AWS::SQS::Queue")) == 2 * len(schema.LANES) + 1


def test_queues_keep_messages_as_long_as_the_schema_says(prod: Synthesis) -> None:
    """B55."""
    assert (schema.LANE_RETENTION_DAYS, schema.DEAD_LETTER_RETENTION_DAYS) == (4, 14)
    for lane in map(in_pascal_case, schema.LANES):
        _, queue = queue_of(prod, f"{lane}QueueUrl")
        _, dead_letters = queue_of(prod, f"{lane}DeadLetterQueueUrl")

        assert queue["MessageRetentionPeriod"] == schema.LANE_RETENTION_DAYS * DAY_SECONDS
        assert dead_letters["MessageRetentionPeriod"] == schema.DEAD_LETTER_RETENTION_DAYS * DAY_SECONDS


def test_a_message_stays_hidden_for_six_times_what_its_function_may_take(prod: Synthesis) -> None:
    """B49."""
    timeout = prod.function("functions.worker.lambda_host.handler")["Timeout"]
    for lane in map(in_pascal_case, schema.LANES):
        _, queue = queue_of(prod, f"{lane}QueueUrl")
        assert queue["VisibilityTimeout"] >= 6 * timeout


def test_queues_are_encrypted_and_refuse_plain_http(prod: Synthesis) -> None:
    for queue in prod.of_type("AWS::SQS::Queue").values():
        assert queue["SqsManagedSseEnabled"] is True
    refused = {
        policy["Queues"][0]["Ref"]
        for policy in prod.of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    }
    assert refused == set(prod.of_type("AWS::SQS::Queue"))


def test_the_emulator_speaks_plain_http(local: Synthesis) -> None:
    assert not local.of_type("AWS::SQS::QueuePolicy")
