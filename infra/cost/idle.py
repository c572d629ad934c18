"""The bill of a month in which nothing fires, read off the templates, so that no setting can be forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from infra.cost.bill import KB_IN_A_GB, Item
from infra.cost.usage import (
    HOURS,
    LOADS_EVERY_SECONDS,
    MINUTES,
    NODE_METRICS,
    POLLS_OF_A_MAPPING,
    POLLS_OF_A_POLLER,
    POLLS_OF_A_WORKER,
    READS_OF_A_BEAT,
    READS_OF_A_LOAD,
    READS_OF_A_PLAN,
    REPORT_KB,
    SECONDS,
    WORKER_METRICS,
    WRITES_OF_A_BEAT,
)

Template = Mapping[str, Any]
#: Created by AWS for each policy that tracks a target: one to scale out, one to scale in.
ALARMS_OF_A_TRACKING_POLICY = 2


def idle_items(templates: Sequence[Template]) -> list[Item]:
    if not templates:
        return []
    by_id = {name: each for template in templates for name, each in template["Resources"].items()}
    resources = list(by_id.values())
    return [
        *_of_services(by_id, _shard_count(templates)),
        *_of_functions(resources),
        *_of_watching(resources),
        *_of_the_rest(resources),
    ]


def _of_type(resources: Sequence[Template], kind: str) -> list[Template]:
    return [each.get("Properties", {}) for each in resources if each["Type"] == kind]


def _shard_count(templates: Sequence[Template]) -> int:
    """The services import it from the stack of the data, where it is a parameter."""
    parameters = [each for template in templates for each in template.get("Parameters", {}).items()]
    return next(int(parameter["Default"]) for name, parameter in parameters if "ShardCount" in name)


def _of_services(by_id: Mapping[str, Template], shards: int) -> Iterator[Item]:
    resources = list(by_id.values())
    least = _least_tasks(resources)
    services = {name: each["Properties"] for name, each in by_id.items() if each["Type"] == "AWS::ECS::Service"}
    for name, service in services.items():
        definition = by_id[service["TaskDefinition"]["Ref"]]["Properties"]
        tasks = service.get("DesiredCount", least.get(name))
        cpus, gigabytes = int(definition["Cpu"]) / 1024, int(definition["Memory"]) / 1024
        yield Item("Fargate", tasks * HOURS * cpus, "fargate_cpu")
        yield Item("Fargate", tasks * HOURS * gigabytes, "fargate_memory")
        if service["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "ENABLED":
            yield Item("public addresses", tasks * HOURS, "public_address")
        yield Item("logs", tasks * MINUTES * REPORT_KB / KB_IN_A_GB, "log_ingestion")
        (container,) = definition["ContainerDefinitions"]
        variables = {each["Name"]: each["Value"] for each in container["Environment"]}
        if container["Name"] == "scheduler":
            yield from _of_nodes(tasks, shards, variables)
        else:
            lanes = [name for name, url in variables.items() if name.endswith("_QUEUE_URL") and url]
            yield Item("polling", tasks * len(lanes) * POLLS_OF_A_WORKER, "sqs_request")
            yield Item("metrics", WORKER_METRICS if tasks else 0, "metric")


def _least_tasks(resources: Sequence[Template]) -> dict[str, int]:
    """What each service that is scaled has at least, by its logical id, which the resource of the scaling ends with."""
    targets = _of_type(resources, "AWS::ApplicationAutoScaling::ScalableTarget")
    return {target["ResourceId"]["Fn::Join"][1][-1]["Fn::GetAtt"][0]: target["MinCapacity"] for target in targets}


def _of_nodes(nodes: int, shards: int, variables: Mapping[str, Any]) -> Iterator[Item]:
    sweep_seconds = int(variables["CARILLON_SWEEP_MS"]) / 1000
    yield Item("sweeps", shards * SECONDS / sweep_seconds, "dynamodb_read")
    yield Item("loads", READS_OF_A_LOAD * shards * SECONDS / LOADS_EVERY_SECONDS, "dynamodb_read")
    yield Item("beats", nodes * SECONDS * WRITES_OF_A_BEAT, "dynamodb_write")
    yield Item("beats", nodes * SECONDS * READS_OF_A_BEAT, "dynamodb_read")
    yield Item("plans", nodes * SECONDS * READS_OF_A_PLAN, "dynamodb_read")
    yield Item("metrics", NODE_METRICS, "metric")


def _of_functions(resources: Sequence[Template]) -> Iterator[Item]:
    for function in _of_type(resources, "AWS::Lambda::Function"):
        if function.get("SnapStart"):
            yield Item("snapshots of functions", SECONDS * function["MemorySize"] / 1024, "snapshot_second")
    for mapping in _of_type(resources, "AWS::Lambda::EventSourceMapping"):
        if not mapping.get("Enabled", True):
            continue
        pollers = mapping.get("ProvisionedPollerConfig", {}).get("MinimumPollers", 0)
        yield Item("pollers of warm lanes", pollers * HOURS, "poller")
        yield Item("polling", pollers * POLLS_OF_A_POLLER if pollers else POLLS_OF_A_MAPPING, "sqs_request")


def _of_watching(resources: Sequence[Template]) -> Iterator[Item]:
    alarms = _of_type(resources, "AWS::CloudWatch::Alarm")
    # One that watches an expression is paid for each metric in it.
    plain = sum(sum("MetricStat" in each for each in alarm.get("Metrics", [])) or 1 for alarm in alarms)
    policies = _of_type(resources, "AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = sum(policy["PolicyType"] == "TargetTrackingScaling" for policy in policies)
    yield Item("alarms", plain + ALARMS_OF_A_TRACKING_POLICY * tracking, "alarm")
    yield Item("alarms", len(_of_type(resources, "AWS::CloudWatch::CompositeAlarm")), "composite_alarm")
    yield Item("dashboard", len(_of_type(resources, "AWS::CloudWatch::Dashboard")), "dashboard")


def _of_the_rest(resources: Sequence[Template]) -> Iterator[Item]:
    endpoints = _of_type(resources, "AWS::EC2::VPCEndpoint")
    zones = sum(len(each.get("SubnetIds", [])) for each in endpoints if each.get("VpcEndpointType") == "Interface")
    yield Item("endpoints of the network", zones * HOURS, "endpoint")
    yield Item("keys", len(_of_type(resources, "AWS::KMS::Key")), "key")
