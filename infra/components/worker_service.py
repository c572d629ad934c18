from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import permissions
from infra.acknowledgements import acknowledge
from infra.components.fargate_process import FargateProcess
from infra.components.lane import Lane
from infra.components.network import Network
from infra.components.scaling import scale_workers
from infra.settings import Environment

#: The folder of the deployment's own handlers, as the Dockerfile has it.
HANDLERS = "/opt/handlers"
#: The longest that Fargate waits for a task that finishes what it runs.
STOP_TIMEOUT = Duration.seconds(120)


class WorkerService(FargateProcess):
    """The worker as a process, for lanes that must hold the drift budget."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: ecs.ICluster,
        network: Network,
        lanes: Mapping[str, Lane],
        variables: Mapping[str, str],
        environment: Environment,
    ) -> None:
        handlers = environment.handlers
        # The emulator's tasks are processes of this machine, and see its folders.
        folder = HANDLERS if handlers is None or not environment.is_emulated else str(handlers.path)
        super().__init__(
            scope,
            construct_id,
            program="worker",
            settings=environment.worker,
            stop_timeout=STOP_TIMEOUT,
            cluster=cluster,
            network=network,
            variables={**variables, **({} if handlers is None else handlers.variables(folder))},
            environment=environment,
            contexts={} if handlers is None else {"handlers": handlers.path},
        )
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=[*permissions.OWN_TASK],
                resources=["*"],
                conditions={"ArnEquals": {"ecs:cluster": cluster.cluster_arn}},
            )
        )
        acknowledge(
            self.role,
            "AwsSolutions-IAM5[Resource::*]",
            "The worker protects its own task, which has no name before it runs; a condition names the cluster",
        )
        if environment.ecs_lanes and not environment.is_emulated:
            queues = [lanes[name].queue for name in environment.ecs_lanes]
            scale_workers(self.service, environment.worker, queues=queues)
