from __future__ import annotations

import pytest

from infra.permissions import TELLER
from shared.config import EVENT_BUS_VARIABLE
from tests.infra.synthesis import Synthesis, actions_of, synthesise

FUNCTIONS = ("api.app", "worker.lambda_host", "dead_letters.handler")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_function_tells_on_the_bus_of_its_own_carillon(prod: Synthesis, function: str) -> None:
    [bus] = prod.of_type("AWS::Events::EventBus")
    made = prod.function(f"functions.{function}.handler")

    assert made["Environment"]["Variables"][EVENT_BUS_VARIABLE] == {"Ref": bus}
    [statement] = [each for each in prod.statements_of(made["Role"]) if actions_of(each) == [*TELLER]]
    assert statement["Resource"] == {"Fn::GetAtt": [bus, "Arn"]}


@pytest.mark.parametrize("program", ["scheduler", "worker"])
def test_each_task_tells_on_the_bus_of_its_own_carillon(prod: Synthesis, program: str) -> None:
    [bus] = prod.of_type("AWS::Events::EventBus")
    told = {each["Name"]: each["Value"] for each in prod.container(program)["Environment"]}

    assert told[EVENT_BUS_VARIABLE] == {"Ref": bus}
    role = prod.task(program)["TaskRoleArn"]
    [statement] = [each for each in prod.statements_of(role) if actions_of(each) == [*TELLER]]
    assert statement["Resource"] == {"Fn::GetAtt": [bus, "Arn"]}


def test_a_deployment_that_wants_no_events_has_nobody_tell_any() -> None:
    synthesis = synthesise("dev", events="none")
    variables = synthesis.function("functions.worker.lambda_host.handler")["Environment"]["Variables"]

    assert variables[EVENT_BUS_VARIABLE] == ""
    assert not [each for each in synthesis.statements() if actions_of(each) == [*TELLER]]
