"""The product's own stacks through the CDK command line: made, changed by settings, refused one, and gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from functions.scheduler.recovery import __main__ as recovery
from functions.scheduler.recovery.restoring import targets_of
from localstack import emulator, endpoints, processes
from localstack.deploy import DeployFailed, deploy, destroy
from localstack.verify import complete
from localstack.workspace import Workspace
from tests.emulator import aws_environment

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
    return {
        "tasks": service["desiredCount"],
        "sweep": variables["CARILLON_SWEEP_MS"],
        "shards": variables["CARILLON_SHARD_COUNT"],
        "runs": variables["CARILLON_JOB_RUNS_TABLE"],
    }


@pytest.mark.emulator
@pytest.mark.timeout(600)
def test_a_deployment_is_changed_refused_moved_to_restored_tables_and_gone_without_a_trace(
    endpoint: str, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path)

    first = deploy(workspace, endpoint)
    complete(workspace.assembly, endpoint)
    tables = {name: physical for name, physical in first.items() if name.endswith("Table")}
    assert stacks(endpoint) == STACKS
    as_deployed = {"tasks": 2, "sweep": "1000", "shards": "4", "runs": tables["JobRunsTable"]}
    assert scheduler(endpoint, first) == as_deployed

    with pytest.raises(DeployFailed, match="The number of shards is for good"):
        deploy(workspace, endpoint, settings={"shard_count": 8})
    assert scheduler(endpoint, first) == as_deployed

    with aws_environment(endpoint):
        assert recovery.main(["restore", "--stack", "Carillon-local-data", "--prefix", "restored"]) == 0
    restored = targets_of("restored")
    changed = {"scheduler": {"tasks": 3}, "sweep_interval_ms": 2000, "restored_tables": restored}
    second = deploy(workspace, endpoint, settings=changed)
    assert scheduler(endpoint, second) == {"tasks": 3, "sweep": "2000", "shards": "4", "runs": "restored-job_runs"}
    assert {name: second[name] for name in tables} == tables

    destroy(workspace, endpoint)
    assert stacks(endpoint) == set()
    assert set(endpoints.dynamodb(endpoint).list_tables()["TableNames"]) == set(restored.values())
