from __future__ import annotations

from typing import Any

import pytest

from localstack.settings import KINDS, differences

TABLE: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
    "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_owner",
            "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def test_what_is_not_deployed_as_the_template_says_is_named_with_its_value() -> None:
    wanted = {"a": 1, "b": 2, "c": 3}

    assert differences(wanted, {"a": 1, "b": 5, "d": 6}) == {"b": 2, "c": 3}


def test_a_table_wants_its_keys_its_indexes_and_what_the_emulator_drops() -> None:
    assert KINDS["AWS::DynamoDB::Table"].wanted(TABLE) == {
        "keys": [("pk", "HASH")],
        "global indexes": [["by_owner", [("owner", "HASH")], "ALL"]],
        "local indexes": [],
        "time to live": "expires_at",
        "point-in-time recovery": True,
    }


def test_a_table_without_time_to_live_wants_none() -> None:
    wanted = KINDS["AWS::DynamoDB::Table"].wanted({"KeySchema": TABLE["KeySchema"]})

    assert wanted["time to live"] is None
    assert wanted["point-in-time recovery"] is False


@pytest.mark.parametrize(
    ("kind", "properties", "wanted"),
    [
        (
            "AWS::SQS::Queue",
            {"VisibilityTimeout": 360, "RedrivePolicy": {"maxReceiveCount": 9, "deadLetterTargetArn": {"Ref": "X"}}},
            {"VisibilityTimeout": 360, "maxReceiveCount": 9},
        ),
        ("AWS::SQS::Queue", {"VisibilityTimeout": {"Ref": "Parameter"}}, {}),
        (
            "AWS::Lambda::Function",
            {"Timeout": 60, "Role": "x", "Environment": {"Variables": {"B": {"Ref": "T"}, "A": "1"}}},
            {"Timeout": 60, "variables": ["A", "B"]},
        ),
        (
            "AWS::Lambda::EventSourceMapping",
            {"BatchSize": 10, "ScalingConfig": {"MaximumConcurrency": 2}},
            {"BatchSize": 10, "MaximumConcurrency": 2},
        ),
    ],
)
def test_only_what_the_template_says_literally_is_compared(
    kind: str, properties: dict[str, Any], wanted: dict[str, Any]
) -> None:
    assert KINDS[kind].wanted(properties) == wanted
