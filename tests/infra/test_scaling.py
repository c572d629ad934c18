from __future__ import annotations

from typing import Any

import pytest

from infra.components.scaling import fires_per_node
from shared.schema import LANES
from tests.infra.synthesis import Properties, Synthesis, only

WORKER = "functions.worker.lambda_host.handler"


def bounds(synthesis: Synthesis) -> list[tuple[int, int]]:
    targets = synthesis.of_type("AWS::ApplicationAutoScaling::ScalableTarget").values()
    return sorted((each["MinCapacity"], each["MaxCapacity"]) for each in targets)


def policies(synthesis: Synthesis, kind: str) -> list[Properties]:
    found = synthesis.of_type("AWS::ApplicationAutoScaling::ScalingPolicy").values()
    return [each for each in found if each["PolicyType"] == kind]


def mappings(synthesis: Synthesis) -> dict[str, Properties]:
    """By lane."""
    outputs = synthesis.service.to_json()["Outputs"]
    by_queue = {outputs[f"{lane.capitalize()}QueueUrl"]["Value"]["Ref"]: lane for lane in LANES}
    found = synthesis.of_type("AWS::Lambda::EventSourceMapping").values()
    return {
        by_queue[each["EventSourceArn"]["Fn::GetAtt"][0]]: each
        for each in found
        if each["EventSourceArn"]["Fn::GetAtt"][0] in by_queue
    }


def test_nodes_follow_their_processor_and_the_fires_each_owns(prod: Synthesis) -> None:
    tracked: list[Any] = [
        each["TargetTrackingScalingPolicyConfiguration"] for each in policies(prod, "TargetTrackingScaling")
    ]
    by_metric = {
        each.get("CustomizedMetricSpecification", {}).get("MetricName")
        or each["PredefinedMetricSpecification"]["PredefinedMetricType"]: each["TargetValue"]
        for each in tracked
    }

    assert by_metric == {"ECSServiceAverageCPUUtilization": 60, "wheel_size": 300_000}
    assert bounds(prod) == [(0, 6), (2, 3)], "a task for long runs starts when one waits"


@pytest.mark.parametrize(("cpu_units", "entries"), [(256, 100_000), (512, 200_000), (1024, 300_000), (4096, 300_000)])
def test_a_smaller_node_is_helped_sooner(cpu_units: int, entries: int) -> None:
    assert fires_per_node(cpu_units) == entries


def test_a_deployment_does_not_take_back_what_scaling_has_added(prod: Synthesis, local: Synthesis) -> None:
    for program in ("scheduler", "worker"):
        assert "DesiredCount" not in prod.service_of(program)
        assert "DesiredCount" in local.service_of(program)


def test_a_node_joins_soon_and_leaves_late(prod: Synthesis) -> None:
    for each in policies(prod, "TargetTrackingScaling"):
        configuration = each["TargetTrackingScalingPolicyConfiguration"]
        assert (configuration["ScaleOutCooldown"], configuration["ScaleInCooldown"]) == (60, 600)


def test_workers_on_ecs_follow_what_waits_and_how_long_it_did(chosen: Synthesis) -> None:
    alarms = chosen.of_type("AWS::CloudWatch::Alarm").values()
    scaling = [each for each in alarms if "Policy" in str(each["AlarmActions"])]
    watched = {each["MetricName"] for each in scaling if "MetricName" in each}
    computed = {part.get("Expression") for each in scaling for part in each.get("Metrics", ())}

    assert policies(chosen, "StepScaling")
    assert "ApproximateNumberOfMessagesVisible" in watched
    # A run that lasts keeps its message, and more tasks would not end it.
    assert "ApproximateAgeOfOldestMessage" not in watched
    assert "IF(waiting > 0, age, 0)" in computed
    assert bounds(chosen) == [(1, 4), (3, 9)]


def test_the_emulator_scales_nothing(local: Synthesis) -> None:
    assert bounds(local) == []


def test_tasks_are_spread_over_the_zones_again_when_one_comes_back(prod: Synthesis) -> None:
    assert prod.service_of("scheduler")["AvailabilityZoneRebalancing"] == "ENABLED"


def test_a_mapping_calls_the_published_version_and_waits_for_no_batch(prod: Synthesis) -> None:
    aliases = prod.of_type("AWS::Lambda::Alias")
    for mapping in mappings(prod).values():
        assert only([alias for alias in aliases if alias in str(mapping["FunctionName"])])
        assert mapping["MaximumBatchingWindowInSeconds"] == 0


def test_a_lane_has_a_bound_on_its_batches_or_pollers_that_are_always_there(chosen: Synthesis, prod: Synthesis) -> None:
    warm, usual = mappings(chosen)["catchup"], mappings(prod)["catchup"]

    assert warm["ProvisionedPollerConfig"] == {"MinimumPollers": 2, "MaximumPollers": 4}
    assert "ScalingConfig" not in warm
    assert usual["ScalingConfig"] == {"MaximumConcurrency": 10}
    assert "ProvisionedPollerConfig" not in usual


def test_a_lane_has_one_host(chosen: Synthesis) -> None:
    variables = {each["Name"]: each["Value"] for each in chosen.container("worker")["Environment"]}

    assert {lane: each["Enabled"] for lane, each in mappings(chosen).items()} == {
        "default": False,
        "catchup": True,
        "long": False,
    }
    assert variables["CARILLON_DEFAULT_QUEUE_URL"]
    assert variables["CARILLON_LONG_QUEUE_URL"]
    assert variables["CARILLON_CATCHUP_QUEUE_URL"] == ""


def test_a_snapshot_is_taken_of_the_worker_when_asked(chosen: Synthesis, prod: Synthesis) -> None:
    assert chosen.function(WORKER)["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert "SnapStart" not in prod.function(WORKER)


def test_workers_are_deployed_before_nodes(prod: Synthesis) -> None:
    """A worker must read what a new node may write."""
    services = prod.service.find_resources("AWS::ECS::Service")
    tasks = prod.of_type("AWS::ECS::TaskDefinition")
    programs = {
        name: only(tasks[each["Properties"]["TaskDefinition"]["Ref"]]["ContainerDefinitions"])["Name"]
        for name, each in services.items()
    }
    by_program = {program: name for name, program in programs.items()}
    waits_for = services[by_program["scheduler"]]["DependsOn"]
    worker = prod.service.find_resources("AWS::Lambda::Function", {"Properties": {"Handler": WORKER}})

    assert by_program["worker"] in waits_for
    assert only(list(worker)) in waits_for
    assert only([name for name in prod.of_type("AWS::Lambda::Alias") if "Worker" in name]) in waits_for


def test_nodes_are_deployed_before_the_api(prod: Synthesis) -> None:
    """Or a job could choose a lane that no node knows yet, and fail for it."""
    handler = {"Properties": {"Handler": "functions.api.app.handler"}}
    [api] = prod.service.find_resources("AWS::Lambda::Function", handler).values()
    [scheduler] = [
        name
        for name, each in prod.service.find_resources("AWS::ECS::Service").items()
        if each["Properties"] == prod.service_of("scheduler")
    ]

    assert scheduler in api["DependsOn"]
