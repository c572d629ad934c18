from __future__ import annotations

import pytest

from shared import schema
from shared.config import PULSE_FOLDER_VARIABLE, queue_variable, table_variable
from tests.infra.synthesis import ROOT, Synthesis, bounds_of, only


def test_two_nodes_run_on_arm_small_ones_but_in_production(dev: Synthesis, prod: Synthesis) -> None:
    for synthesis in (dev, prod):
        assert bounds_of(synthesis, "scheduler")[0] == 2
        assert synthesis.task("scheduler")["RuntimePlatform"] == {
            "CpuArchitecture": "ARM64",
            "OperatingSystemFamily": "LINUX",
        }
    assert [dev.task("scheduler")[size] for size in ("Cpu", "Memory")] == ["256", "512"]
    assert [prod.task("scheduler")[size] for size in ("Cpu", "Memory")] == ["1024", "2048"]


def test_a_node_has_half_a_minute_to_drain(prod: Synthesis) -> None:
    container = prod.container("scheduler")

    assert container["Command"] == ["python", "-P", "-m", "functions.scheduler"]
    assert container["StopTimeout"] == 30


@pytest.mark.parametrize("program", ["scheduler", "worker"])
def test_a_stuck_task_is_noticed_and_writes_its_signs_of_life_to_the_one_place_it_may(
    prod: Synthesis, program: str
) -> None:
    container = prod.container(program)
    variables = {each["Name"]: each["Value"] for each in container["Environment"]}
    [mount] = container["MountPoints"]
    dockerfile = (ROOT / f"functions/{program}/Dockerfile").read_text(encoding="utf-8")

    assert container["HealthCheck"]["Command"] == ["CMD", "python", "-P", "-m", f"functions.{program}.health"]
    assert container["ReadonlyRootFilesystem"] is True
    assert mount["ReadOnly"] is False
    assert mount["ContainerPath"] == variables[PULSE_FOLDER_VARIABLE]
    assert f"VOLUME {mount['ContainerPath']}\n" in dockerfile
    assert [each["Name"] for each in prod.task(program)["Volumes"]] == [mount["SourceVolume"]]


@pytest.mark.parametrize("program", ["scheduler", "worker"])
def test_a_deployment_never_goes_below_the_wanted_number_and_rolls_back_when_it_fails(
    prod: Synthesis, program: str
) -> None:
    deployment = prod.service_of(program)["DeploymentConfiguration"]

    assert deployment["MinimumHealthyPercent"] == 100
    assert deployment["MaximumPercent"] == 200
    assert deployment["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}


def test_a_node_is_told_its_tables_and_every_lane(prod: Synthesis) -> None:
    variables = {each["Name"]: each["Value"] for each in prod.container("scheduler")["Environment"]}

    assert {name for name in variables if name.endswith("_TABLE")} == {
        table_variable(name) for name in ("jobs", "job_schedules", "job_runs", "fleet")
    }
    assert {name for name in variables if name.endswith("_QUEUE_URL")} == {
        queue_variable(lane) for lane in schema.LANES
    }
    assert variables["PYTHONTZPATH"] == ""


def test_the_network_has_a_free_way_to_dynamodb_and_no_nat(prod: Synthesis) -> None:
    assert not prod.of_type("AWS::EC2::NatGateway")
    assert only(list(prod.of_type("AWS::EC2::VPCEndpoint").values()))["VpcEndpointType"] == "Gateway"
    assert len(prod.of_type("AWS::EC2::Subnet")) == 2


def test_nothing_may_call_a_task(prod: Synthesis) -> None:
    group = only(list(prod.of_type("AWS::EC2::SecurityGroup").values()))

    assert "SecurityGroupIngress" not in group
    assert not prod.of_type("AWS::EC2::SecurityGroupIngress")
