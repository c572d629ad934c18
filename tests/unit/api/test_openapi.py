from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from functions.api.documentation import PATH
from functions.api.openapi.resources import OPERATIONS
from functions.api.openapi.written import text
from tests.unit.api.prepared import Example, examples, prepared
from tests.unit.api.world import CRON, HTTP

EXAMPLES = examples()
#: A request of the same kind as the example that makes, or chooses, something else.
OTHERS: dict[str, dict[str, Any]] = {
    "createJob": {"job_id": "other", "schedule": CRON, "target": HTTP},
    "runJob": {"payload": "other"},
    "redriveRuns": {"error_type": "other"},
    "createKey": {"name": "other", "scopes": ["read"]},
    "createGrant": {"target_type": "http", "resource": "other.example.com"},
}
DOCUMENT: Any = json.loads(PATH.read_text())


def test_the_committed_document_is_what_the_code_makes() -> None:
    """Red: run `python -m functions.api.openapi` and commit what it writes."""
    assert PATH.read_text() == text()


def test_nothing_is_said_of_routes_that_are_not_there() -> None:
    assert set(OPERATIONS) == {(each.route.method, each.route.path) for each in EXAMPLES}
    names = [operation.name for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)


def schema_of(example: Example, status: int, kind: str) -> Any:
    path = example.route.path.replace("<", "{").replace(">", "}")
    answer = DOCUMENT["paths"][path][example.route.method.lower()]["responses"][str(status)]
    return {**answer["content"][kind]["schema"], "components": DOCUMENT["components"]}


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_example_of_an_operation_works_and_its_answer_is_as_described(example: Example) -> None:
    reply = example.send(prepared())
    assert reply.status == example.operation.status, reply.text
    jsonschema_rs.validator_for(schema_of(example, reply.status, "application/json")).validate(reply.json)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_the_answer_that_is_shown_of_an_operation_is_as_described_and_as_it_comes(example: Example) -> None:
    path = example.route.path.replace("<", "{").replace(">", "}")
    answers = DOCUMENT["paths"][path][example.route.method.lower()]["responses"]
    for status in (example.operation.status, *example.operation.also):
        shown = answers[str(status)]["content"]["application/json"]["example"]
        jsonschema_rs.validator_for(schema_of(example, status, "application/json")).validate(shown)
        assert set(shown) <= set(example.send(prepared()).json)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.route.scope], ids=str)
def test_a_problem_is_as_described(example: Example) -> None:
    for reply in (example.send(prepared(), key=None), example.send(prepared(), query="colour=blue")):
        assert reply.status in {401, 400}
        schema = schema_of(example, reply.status, "application/problem+json")
        jsonschema_rs.validator_for(schema).validate(reply.json)


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.operation.name in OTHERS], ids=str)
def test_an_operation_says_that_its_key_may_stand_for_another_request(example: Example) -> None:
    world, other = prepared(), OTHERS[example.operation.name]
    assert world.send("POST", example.path, other, idempotency_key="used").status == example.operation.status
    reply = example.send(world, idempotency_key="used")
    assert (reply.status, reply.status in example.operation.problems) == (422, True), reply.text


def test_only_health_and_the_document_are_open() -> None:
    assert [str(each) for each in EXAMPLES if each.route.scope is None] == ["health", "openapi"]
    for example in EXAMPLES:
        path = example.route.path.replace("<", "{").replace(">", "}")
        operation = DOCUMENT["paths"][path][example.route.method.lower()]
        assert operation["security"] == ([{"key": []}] if example.route.scope else [])


def test_the_document_is_served_without_a_key() -> None:
    reply = prepared().send("GET", "/v1/openapi.json", key=None)
    assert (reply.status, reply.json) == (200, DOCUMENT)


def test_every_reference_leads_somewhere() -> None:
    def names(node: Any) -> set[str]:
        if isinstance(node, dict):
            own = {node["$ref"].rpartition("/")[2]} if isinstance(node.get("$ref"), str) else set()
            return own.union(*(names(value) for value in node.values()))
        return set().union(*map(names, node)) if isinstance(node, list) else set()

    assert names(DOCUMENT) <= set(DOCUMENT["components"]["schemas"])
