"""N is for good: CloudFormation itself refuses another one, and nobody is told one of his own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from infra.bundle import ROOT
from tests.infra.synthesis import Synthesis, only

NAME = "CARILLON_SHARD_COUNT"


def parameter_of(synthesis: Synthesis) -> tuple[str, dict[str, Any]]:
    parameters = synthesis.data.to_json()["Parameters"].items()
    found: tuple[str, dict[str, Any]] = only([each for each in parameters if "ShardCount" in each[0]])
    return found


def told(synthesis: Synthesis) -> Iterator[object]:
    """The number as each deployable that has it is told it."""
    for program in ("scheduler", "worker"):
        yield from (each["Value"] for each in synthesis.container(program)["Environment"] if each["Name"] == NAME)
    for function in synthesis.of_type("AWS::Lambda::Function").values():
        variables = function.get("Environment", {}).get("Variables", {})
        yield from [variables[NAME]] if NAME in variables else []


def test_a_stack_keeps_its_first_number_and_refuses_a_template_with_another(prod: Synthesis, chosen: Synthesis) -> None:
    for synthesis, wanted in ((prod, 16), (chosen, 32)):
        name, parameter = parameter_of(synthesis)
        rules = synthesis.data.to_json()["Rules"]
        rule = only([each for key, each in rules.items() if "ShardCount" in key])
        (assertion,) = rule["Assertions"]

        assert (parameter["Type"], parameter["Default"]) == ("Number", wanted)
        assert assertion["Assert"] == {"Fn::Equals": [{"Ref": name}, str(wanted)]}
        assert "for good" in assertion["AssertDescription"]


def test_the_way_to_another_number_is_where_the_refusal_says(prod: Synthesis) -> None:
    rules = prod.data.to_json()["Rules"].values()
    told = only([rule["Assertions"][0]["AssertDescription"] for rule in rules if "shard" in str(rule)])

    heading = told.partition("RUNBOOK.md, '")[2].partition("'")[0]
    assert f"## {heading}\n" in (ROOT / "infra" / "RUNBOOK.md").read_text()


def test_everybody_is_told_the_number_of_the_data(prod: Synthesis) -> None:
    numbers = list(told(prod))
    name, _ = parameter_of(prod)

    assert len(numbers) >= 4
    for number in numbers:
        assert isinstance(number, dict)
        assert name in number["Fn::ImportValue"]
