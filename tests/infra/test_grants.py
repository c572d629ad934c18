"""What each deployable is told of grants: whether hosts need them, and what is Carillon's own."""

from __future__ import annotations

from tests.infra.synthesis import Synthesis, synthesise

WORKER = "functions.worker.lambda_host.handler"
API = "functions.api.app.handler"


def variable_of(synthesis: Synthesis, handler: str, name: str) -> object:
    return synthesis.function(handler)["Environment"]["Variables"][name]


def test_the_queues_and_tables_of_a_deployment_are_its_own(prod: Synthesis) -> None:
    for handler in (WORKER, API):
        own = str(variable_of(prod, handler, "CARILLON_OWN_RESOURCES"))
        assert all(f"'{name}', 'QueueName'" in own for name in prod.of_type("AWS::SQS::Queue"))
        assert own.count("Table") >= 5


def test_no_function_of_a_deployment_can_be_granted(prod: Synthesis) -> None:
    """The API knows its own name from Lambda."""
    own = str(variable_of(prod, API, "CARILLON_OWN_RESOURCES"))

    for name, function in prod.of_type("AWS::Lambda::Function").items():
        assert (f"'{name}'" in own) == (function["Handler"] != API)


def test_nobody_can_be_granted_to_tell_lifecycle_events(prod: Synthesis) -> None:
    [bus] = prod.of_type("AWS::Events::EventBus")

    for handler in (WORKER, API):
        assert f"{{'Ref': '{bus}'}}" in str(variable_of(prod, handler, "CARILLON_OWN_RESOURCES"))


def test_hosts_need_grants_where_a_deployment_says_so(prod: Synthesis) -> None:
    strict = synthesise("dev", http_grants="required")

    for handler in (WORKER, API):
        assert variable_of(prod, handler, "CARILLON_HTTP_GRANTS") == "open"
        assert variable_of(strict, handler, "CARILLON_HTTP_GRANTS") == "required"
