from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from aws_cdk import Duration, FileSystem, IgnoreMode, Names
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.bundle import ROOT, TRACING_GROUP
from infra.components.log import Log
from infra.components.network import Network
from infra.settings import Environment, TaskSettings
from shared.config import PULSE_FOLDER_VARIABLE

#: As the Dockerfiles have it.
PULSE_FOLDER = "/run/carillon"


class FargateProcess(Construct):
    """`python -m functions.<program>` as a service of arm64 tasks over the zones, replaced without a moment below their
    number.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        program: str,
        settings: TaskSettings,
        stop_timeout: Duration,
        cluster: ecs.ICluster,
        network: Network,
        variables: Mapping[str, str],
        environment: Environment,
        contexts: Mapping[str, Path] = MappingProxyType({}),
    ) -> None:
        """`contexts` are folders for the image, in the place of those stages of its Dockerfile."""
        super().__init__(scope, construct_id)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
        self.log = Log(self, "Log", environment=environment)
        self.task_definition = ecs.FargateTaskDefinition(
            self,
            "Task",
            # The default is the path of the construct, which two Carillons share.
            family=Names.unique_resource_name(self, max_length=200, separator="-"),
            cpu=settings.cpu_units,
            memory_limit_mib=settings.memory_mb,
            runtime_platform=ecs.RuntimePlatform(
                cpu_architecture=ecs.CpuArchitecture.ARM64,
                operating_system_family=ecs.OperatingSystemFamily.LINUX,
            ),
            task_role=self.role,
        )
        container = self.task_definition.add_container(
            program,
            image=_image(program, environment, contexts),
            command=["python", "-P", "-m", f"functions.{program}"],
            environment={**variables, "PYTHONTZPATH": "", PULSE_FOLDER_VARIABLE: PULSE_FOLDER},
            logging=ecs.LogDrivers.aws_logs(stream_prefix=program, log_group=self.log.group),
            readonly_root_filesystem=True,
            stop_timeout=stop_timeout,
            health_check=_health_check(program),
        )
        # The one place it writes to: the image makes it, and says whose it is.
        self.task_definition.add_volume(name="pulse")
        container.add_mount_points(ecs.MountPoint(container_path=PULSE_FOLDER, source_volume="pulse", read_only=False))
        self.service = ecs.FargateService(
            self,
            "Service",
            cluster=cluster,
            task_definition=self.task_definition,
            # Elsewhere the scaling says how many, and a deployment must not take back what it has added.
            desired_count=settings.tasks if environment.is_emulated else None,
            assign_public_ip=network.has_public_addresses,
            security_groups=[network.outbound_only],
            vpc_subnets=network.subnets,
            availability_zone_rebalancing=ecs.AvailabilityZoneRebalancing.ENABLED,
            circuit_breaker=ecs.DeploymentCircuitBreaker(rollback=True),
            min_healthy_percent=100,
            max_healthy_percent=200,
        )
        for each in network.ready:
            self.service.node.add_dependency(each)
        acknowledge(
            self.task_definition,
            "AwsSolutions-IAM5[Resource::*]",
            "ecr:GetAuthorizationToken, by which ECS pulls the image, has no resource",
        )
        acknowledge(
            self.task_definition,
            "AwsSolutions-ECS2",
            "The variables are names of tables and queues and plain settings; no secret is among them",
        )


def _health_check(program: str) -> ecs.HealthCheck:
    """Three times in a row without life, and the task is replaced."""
    return ecs.HealthCheck(
        command=["CMD", "python", "-P", "-m", f"functions.{program}.health"],
        interval=Duration.seconds(15),
        timeout=Duration.seconds(10),
        retries=3,
        start_period=Duration.seconds(60),
    )


def _image(program: str, environment: Environment, contexts: Mapping[str, Path]) -> ecs.ContainerImage:
    if environment.is_emulated:
        # The emulator pulls nothing: the local stack starts the command of the task definition as a process.
        return ecs.ContainerImage.from_registry(f"carillon/{program}")
    dockerfile = f"functions/{program}/Dockerfile"
    return ecs.ContainerImage.from_asset(
        str(ROOT),
        file=dockerfile,
        exclude=(ROOT / f"{dockerfile}.dockerignore").read_text(encoding="utf-8").splitlines(),
        ignore_mode=IgnoreMode.DOCKER,
        platform=ecr_assets.Platform.LINUX_ARM64,
        # Another build, and so another image, than the one of those who do not trace.
        build_args={} if environment.tracing is None else {"ALSO": TRACING_GROUP},
        build_contexts={name: str(folder) for name, folder in contexts.items()} or None,
        # What is in them makes another image too.
        extra_hash="".join(FileSystem.fingerprint(str(folder)) for folder in contexts.values()) or None,
    )
