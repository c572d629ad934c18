"""The product's own stacks through the CDK command line: made, changed by a setting, and gone without a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from localstack import emulator, endpoints, processes
from localstack.deploy import deploy, destroy
from localstack.verify import complete
from localstack.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STACKS = {"Carillon-local-data", "Carillon-local-service"}


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    port = emulator.free_port(0)
    process = emulator.launch(Workspace(tmp_path), port)
    try:
        emulator.wait_until_ready(process, Workspace(tmp_path), port)
        yield emulator.endpoint_of(port)
    finally:
        processes.stop([process], grace_seconds=emulator.GRACE_SECONDS)


def stacks(endpoint: str) -> set[str]:
    found = endpoints.cloudformation(endpoint).describe_stacks()["Stacks"]
    return {each["StackName"] for each in found if each["StackName"] in STACKS}


def scheduler(endpoint: str, outputs: dict[str, str]) -> dict[str, Any]:
    ecs = endpoints.client("ecs", endpoint=endpoint)
    described = ecs.describe_services(cluster=outputs["ClusterName"], services=[outputs["SchedulerServiceName"]])
    service = described["services"][0]
    task = ecs.describe_task_definition(taskDefinition=service["taskDefinition"])["taskDefinition"]
    variables = {each["name"]: each["value"] for each in task["containerDefinitions"][0]["environment"]}
    return {"tasks": service["desiredCount"], "sweep": variables["CARILLON_SWEEP_MS"]}


@pytest.mark.emulator
@pytest.mark.timeout(600)
def test_a_setting_changes_what_is_deployed_and_keeps_the_tables_and_nothing_is_left_at_the_end(
    endpoint: str, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path)

    first = deploy(workspace, endpoint)
    complete(workspace.assembly, endpoint)
    assert stacks(endpoint) == STACKS
    assert scheduler(endpoint, first) == {"tasks": 2, "sweep": "1000"}

    second = deploy(workspace, endpoint, settings={"scheduler": {"tasks": 3}, "sweep_interval_ms": 2000})
    complete(workspace.assembly, endpoint)
    assert scheduler(endpoint, second) == {"tasks": 3, "sweep": "2000"}
    tables = [name for name in first if name.endswith("Table")]
    assert {name: second[name] for name in tables} == {name: first[name] for name in tables}

    destroy(workspace, endpoint)
    assert stacks(endpoint) == set()
    assert endpoints.dynamodb(endpoint).list_tables()["TableNames"] == []
