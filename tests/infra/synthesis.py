"""What an environment synthesises to, and how tests look into it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aws_cdk import App
from aws_cdk.assertions import Template

from infra.app import compose

ROOT = Path(__file__).parents[2]
Properties = dict[str, Any]
#: As the command line does for commands that only look at the stacks.
WITHOUT_BUNDLING: dict[str, object] = {"aws:cdk:bundling-stacks": []}


@dataclass(frozen=True, slots=True)
class Synthesis:
    data: Template
    service: Template

    def tables(self) -> dict[str, Properties]:
        """By the output that names each: `JobRunsTable`."""
        resources = self.data.to_json()["Resources"]
        outputs = self.data.to_json()["Outputs"]
        return {
            key: resources[output["Value"]["Ref"]]
            for key, output in outputs.items()
            if not key.startswith("ExportsOutput")
        }

    def of_type(self, kind: str) -> dict[str, Properties]:
        """The properties of the service's resources of a type, by logical id."""
        found = self.service.find_resources(kind)
        return {logical_id: dict(resource["Properties"]) for logical_id, resource in found.items()}

    def function(self, handler: str) -> Properties:
        found = [each for each in self.of_type("AWS::Lambda::Function").values() if each["Handler"] == handler]
        function: Properties = only(found)
        return function

    def task(self, program: str) -> Properties:
        """The task definition whose only container runs `program`."""
        tasks = self.of_type("AWS::ECS::TaskDefinition").values()
        task: Properties = only([each for each in tasks if only(each["ContainerDefinitions"])["Name"] == program])
        return task

    def container(self, program: str) -> Properties:
        container: Properties = only(self.task(program)["ContainerDefinitions"])
        return container

    def service_of(self, program: str) -> Properties:
        tasks = self.of_type("AWS::ECS::TaskDefinition")
        wanted = only([key for key, task in tasks.items() if task == self.task(program)])
        services = self.of_type("AWS::ECS::Service").values()
        service: Properties = only([each for each in services if each["TaskDefinition"] == {"Ref": wanted}])
        return service

    def statements(self) -> Iterator[Properties]:
        """Every statement of every policy of a role."""
        for policy in self.of_type("AWS::IAM::Policy").values():
            yield from policy["PolicyDocument"]["Statement"]

    def statements_of(self, role: object) -> list[Properties]:
        """Those of the role that a task or a function refers to like this."""
        logical_id = role["Fn::GetAtt"][0] if isinstance(role, dict) else role
        policies = self.of_type("AWS::IAM::Policy").values()
        mine = [policy for policy in policies if {"Ref": logical_id} in policy["Roles"]]
        return [statement for policy in mine for statement in policy["PolicyDocument"]["Statement"]]


def context(environment: str, **more: object) -> dict[str, object]:
    flags: dict[str, object] = json.loads((ROOT / "infra" / "cdk.json").read_text())["context"]
    return {**flags, **WITHOUT_BUNDLING, "environment": environment, **more}


#: What `prod` does not do without.
TOLD: dict[str, object] = {"alarm_email": "ops@example.com"}


def synthesise(environment: str, **settings: object) -> Synthesis:
    if environment == "prod":
        settings = {**TOLD, **settings}
    more = {"settings": settings} if settings else {}
    stacks = compose(App(context=context(environment, **more)))
    return Synthesis(Template.from_stack(stacks.data), Template.from_stack(stacks.service))


#: Whatever a deployment can choose, chosen otherwise than usual.
EVERY_SETTING: dict[str, object] = {
    "shard_count": 32,
    "scheduler": {"tasks": 3, "most": 9, "cpu_units": 512, "memory_mb": 2048},
    "worker": {"tasks": 1, "most": 4},
    "sweep_interval_ms": 2000,
    "senders": 8,
    "lanes": {"default": {"host": "ecs"}, "catchup": {"host": "lambda-warm", "concurrency": 40}},
    "worker_reserved_concurrency": 100,
    "worker_memory_mb": 1024,
    "worker_webhooks": 40,
    "api": {"requests_per_second": 50, "burst": 80, "reserved_concurrency": 20, "payload_bytes": 4096},
    "worker_snap_start": True,
    "grants": [
        {"arn": "arn:aws:lambda:eu-west-1:123456789012:function:report"},
        {"arn": "arn:aws:glue:eu-west-1:123456789012:job/night", "actions": ["glue:StartJobRun"]},
    ],
    "run_retention_days": 60,
    "log_retention_days": 365,
    "network": {"mode": "private", "zones": 3},
    "encryption": "own",
    "custom_domain": {
        "name": "jobs.example.com",
        "certificate_arn": "arn:aws:acm:eu-west-1:123456789012:certificate/6c0c",
    },
    "warm_throughput": {"reads_per_second": 20000, "writes_per_second": 8000},
    "tracing": {"share": 0.1},
    "alarms": "email",
    "alarm_email": "ops@example.com",
    "drift_slo_ms": 250,
    "monthly_budget": 250,
    "owner_concurrency": {"*": 50, "batch": 5},
    "permission_boundary": "TeamBoundary",
    "tags": {"team": "platform"},
}


def bounds_of(synthesis: Synthesis, program: str) -> tuple[int, int]:
    """How many tasks a service has at least and at most."""
    services = synthesis.of_type("AWS::ECS::Service")
    wanted = only([name for name, each in services.items() if each == synthesis.service_of(program)])
    targets = synthesis.of_type("AWS::ApplicationAutoScaling::ScalableTarget").values()
    target = only([each for each in targets if wanted in str(each["ResourceId"])])
    return target["MinCapacity"], target["MaxCapacity"]


def actions_of(statement: Properties) -> list[str]:
    return as_list(statement["Action"])


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def only(found: list[Any]) -> Any:
    assert len(found) == 1, found
    return found[0]
