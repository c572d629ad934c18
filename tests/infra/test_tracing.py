"""Traces: nothing of them unless an environment asks, and all that they take when it does."""

from __future__ import annotations

import json

import pytest

from infra import bundle
from infra.bundle import requirements_of
from infra.environments import environment_named
from infra.settings import SettingsRefused
from tests.infra.synthesis import Synthesis, actions_of, synthesise

API, WORKER = "functions.api.app.handler", "functions.worker.lambda_host.handler"
COLLECTOR = "https://collector.example.com/v1/traces"
TRACER = {"xray:PutSpans", "xray:PutSpansForIndexing", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}


@pytest.fixture(scope="module")
def collected() -> Synthesis:
    return synthesise("dev", tracing={"share": 1, "endpoint": COLLECTOR})


def variables_of(synthesis: Synthesis, program: str) -> dict[str, object]:
    if program.endswith("handler"):
        return dict(synthesis.function(program)["Environment"]["Variables"])
    return {each["Name"]: each["Value"] for each in synthesis.container(program)["Environment"]}


def tracers(synthesis: Synthesis) -> list[set[str]]:
    """What each policy grants of X-Ray."""
    granted = [{each for each in actions_of(found) if each.startswith("xray:")} for found in synthesis.statements()]
    return [each for each in granted if each]


def test_nobody_traces_by_default(prod: Synthesis) -> None:
    text = json.dumps(prod.service.to_json())

    assert "xray" not in text.lower()
    assert "CARILLON_TRACED_SHARE" not in text
    assert not any("TracingConfig" in each for each in prod.of_type("AWS::Lambda::Function").values())


@pytest.mark.parametrize("program", [API, WORKER, "scheduler", "worker"])
def test_whoever_takes_part_is_told_the_share_and_the_place(
    chosen: Synthesis, collected: Synthesis, program: str
) -> None:
    assert variables_of(chosen, program)["CARILLON_TRACED_SHARE"] == "0.1"
    assert '"https://xray.", {"Ref": "AWS::Region"}, "."' in json.dumps(
        variables_of(chosen, program)["CARILLON_TRACES_ENDPOINT"]
    )
    assert variables_of(collected, program)["CARILLON_TRACED_SHARE"] == "1.0"
    assert variables_of(collected, program)["CARILLON_TRACES_ENDPOINT"] == COLLECTOR


def test_lambda_traces_as_well_where_spans_go_to_x_ray(chosen: Synthesis, collected: Synthesis) -> None:
    for handler in (API, WORKER):
        assert chosen.function(handler)["TracingConfig"] == {"Mode": "Active"}
        assert "TracingConfig" not in collected.function(handler)


def test_those_four_may_send_spans_and_only_to_x_ray(chosen: Synthesis, collected: Synthesis) -> None:
    roles = [
        *(chosen.function(handler)["Role"] for handler in (API, WORKER)),
        *(chosen.task(program)["TaskRoleArn"] for program in ("scheduler", "worker")),
    ]
    for role in roles:
        granted = {action for statement in chosen.statements_of(role) for action in actions_of(statement)}
        assert granted >= TRACER
    assert all(each <= TRACER for each in tracers(chosen))
    assert tracers(collected) == []


def test_a_network_that_nothing_leads_out_of_has_a_way_to_x_ray(chosen: Synthesis) -> None:
    assert "xray" in json.dumps(chosen.of_type("AWS::EC2::VPCEndpoint"))


def test_the_packages_come_with_it() -> None:
    without = requirements_of(bundle.API)
    with_it = requirements_of(bundle.Bundle("api", sources=(), also=(bundle.TRACING_GROUP,)))

    assert "opentelemetry" not in without
    assert "opentelemetry-sdk==" in with_it
    assert "opentelemetry-exporter-otlp-proto-http==" in with_it


@pytest.mark.parametrize(
    ("environment", "tracing", "sentence"),
    [
        ("dev", {"share": 0}, "greater than 0"),
        ("dev", {"share": 1.5}, "less than or equal to 1"),
        ("dev", {"endpoint": "collector:4318"}, "the whole URL of a collector"),
        ("dev", {"sampling": 1}, "there is no setting"),
        ("local", {}, "has no X-Ray: set tracing.endpoint"),
    ],
)
def test_what_cannot_work_is_refused(environment: str, tracing: dict[str, object], sentence: str) -> None:
    with pytest.raises(SettingsRefused, match=sentence):
        environment_named(environment, {"tracing": tracing})
