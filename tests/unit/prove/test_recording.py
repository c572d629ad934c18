"""What was answered to which part of a request."""

from __future__ import annotations

from typing import Any

import pytest

from infra.prove.findings import Verdict
from infra.prove.recording import Met, Recorder, met_in, plain
from infra.prove.shapes import Shapes, shapes_in
from infra.prove.tables import NOT_SHOWN, shape_findings

PUT = {"Put": {"ConditionExpression": "attribute_not_exists(#pk)", "TableName": "access"}}
UPDATE = {"Update": {"ConditionExpression": "#revision = :seen", "UpdateExpression": "SET #a = :a"}}


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ({}, ["accepted", "accepted", "accepted"]),
        (
            {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": "None"}, {"Code": "ConditionalCheckFailed"}],
            },
            ["TransactionCanceledException", "None", "ConditionalCheckFailed"],
        ),
        ({"Error": {"Code": "ThrottlingException"}}, ["ThrottlingException"] * 3),
    ],
)
def test_items_of_a_transaction_have_reasons_of_their_own(answered: dict[str, Any], expected: list[str]) -> None:
    assert [code for _, code in met_in({"TransactItems": [PUT, UPDATE]}, answered)] == expected


def test_statements_are_answered_each_alone() -> None:
    asked = {"Statements": [{"Statement": "one", "Parameters": []}, {"Statement": "two"}]}
    answered = {"Responses": [{}, {"Error": {"Code": "DuplicateItem"}}]}
    assert list(met_in(asked, answered)) == [(("one",), "accepted"), (("two",), "DuplicateItem")]


def test_codes_are_compared_as_adapters_compare_them() -> None:
    assert plain("com.amazonaws.dynamodb.v20120810#x.ConditionalCheckFailedException") == "ConditionalCheckFailed"


def test_a_shape_that_nothing_met_fails_unless_it_is_excused() -> None:
    shapes = Shapes(
        frozenset({"jobs.write"}), {"JOB_IS_NEW": "attribute_not_exists(#job_key)"}, frozenset(), frozenset()
    )
    recorder = Recorder(met=[Met("jobs.get", ("#revision = :r",), "accepted")])
    assert {each.verdict for each in shape_findings(shapes, recorder)} == {Verdict.FAILED}
    recorder.met.append(Met("jobs.write", ("attribute_not_exists(#job_key)",), "accepted"))
    assert {each.verdict for each in shape_findings(shapes, recorder)} == {Verdict.PASSED}


def test_what_nobody_can_order_is_not_shown_until_it_is_met() -> None:
    findings = {each.what: each for each in shape_findings(shapes_in(), Recorder())}
    assert {findings[name].verdict for name in NOT_SHOWN} == {Verdict.NOT_SHOWN}
    thrown = Recorder(met=[Met("jobs.get", (), "ThrottlingException")])
    findings = {each.what: each for each in shape_findings(shapes_in(), thrown)}
    assert findings["Throttling"].verdict is Verdict.PASSED
