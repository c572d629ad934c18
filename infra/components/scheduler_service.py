from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_ecs as ecs
from constructs import Construct

from infra.components.fargate_process import FargateProcess
from infra.components.network import Network
from infra.components.scaling import scale_nodes
from infra.settings import Environment

#: A node drains in two seconds; the rest is for a slow table.
STOP_TIMEOUT = Duration.seconds(30)


class SchedulerService(FargateProcess):
    """The nodes."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        cluster: ecs.ICluster,
        network: Network,
        variables: Mapping[str, str],
        environment: Environment,
        deployment: str,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            program="scheduler",
            settings=environment.scheduler,
            stop_timeout=STOP_TIMEOUT,
            cluster=cluster,
            network=network,
            variables=variables,
            environment=environment,
        )
        if not environment.is_emulated:
            scale_nodes(self.service, environment.scheduler, deployment=deployment)
