from __future__ import annotations

from typing import Any

import pytest

from localstack.roles import with_batches

QUEUE = "arn:aws:sqs:us-east-1:000000000000:lane"


def policy(*actions: str) -> dict[str, Any]:
    return {"Statement": [{"Effect": "Allow", "Action": [*actions], "Resource": QUEUE}]}


def test_what_is_allowed_one_by_one_is_allowed_in_batches_on_the_same_resources() -> None:
    found = list(with_batches(policy("sqs:DeleteMessage", "sqs:ReceiveMessage")))

    assert found == [{"Effect": "Allow", "Action": ["sqs:DeleteMessageBatch"], "Resource": QUEUE}]


@pytest.mark.parametrize("action", ["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"])
def test_statements_come_in_batches_whose_tables_the_emulator_does_not_see(action: str) -> None:
    (found,) = with_batches(policy("dynamodb:GetItem", action))

    assert (found["Action"], found["Resource"]) == ("dynamodb:BatchExecuteStatement", "*")


def test_nothing_else_is_allowed_more_than_the_policy_says() -> None:
    assert list(with_batches(policy("sqs:ReceiveMessage", "dynamodb:BatchWriteItem", "events:PutEvents"))) == []


def test_a_policy_with_one_action_need_not_list_it() -> None:
    alone = {"Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": QUEUE}]}

    assert [each["Action"] for each in with_batches(alone)] == [["sqs:SendMessageBatch"]]
