"""The proof of the stores, on the emulator: every shape is met, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from infra.prove.findings import Finding, Verdict
from infra.prove.scratch import PREFIX, scratch
from infra.prove.tables import NOT_SHOWN, prove_tables

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

pytestmark = pytest.mark.emulator


@pytest.fixture(scope="module")
def findings(dynamodb: DynamoDBClient, sqs: SQSClient) -> Iterator[list[Finding]]:
    with scratch(dynamodb, sqs, "test") as tables:
        yield prove_tables(tables)


def test_the_tables_answer_as_the_stores_expect(findings: list[Finding]) -> None:
    assert [each for each in findings if each.verdict is Verdict.FAILED] == []


def test_only_what_is_excused_was_not_shown(findings: list[Finding]) -> None:
    assert {each.what for each in findings if each.verdict is Verdict.NOT_SHOWN} <= NOT_SHOWN.keys()


@pytest.mark.parametrize("name", ["JOB_IS_AS_READ", "LEASE_IS_HELD", "ROOM_IS_LEFT", "RUN_IS_HELD", "FENCE_OF_RUN"])
def test_a_condition_was_met_where_it_holds_and_where_it_does_not(findings: list[Finding], name: str) -> None:
    [finding] = [each for each in findings if each.what == name]
    assert "accepted: " in finding.evidence or "None: " in finding.evidence
    assert "ConditionalCheckFailed: " in finding.evidence


def test_nothing_is_left_behind(dynamodb: DynamoDBClient, sqs: SQSClient) -> None:
    with pytest.raises(ZeroDivisionError), scratch(dynamodb, sqs, "left"):
        raise ZeroDivisionError
    assert not [name for name in dynamodb.list_tables()["TableNames"] if name.startswith(f"{PREFIX}-left")]
    assert not sqs.list_queues(QueueNamePrefix=f"{PREFIX}-left").get("QueueUrls", [])
