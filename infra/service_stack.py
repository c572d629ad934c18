from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra import permissions
from infra.components import worker_function
from infra.components.api import Api
from infra.components.lane import Lane
from infra.components.network import Network
from infra.components.scheduler_service import SchedulerService
from infra.components.tables import Tables
from infra.components.worker_function import WorkerFunction
from infra.components.worker_service import WorkerService
from infra.environments import Environment
from infra.words import in_pascal_case
from shared.config import queue_variable, table_variable
from shared.schema import LANES


class ServiceStack(Stack):
    """Everything that runs. It composes and grants; what the parts are is said in `components`."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stack_name: str, environment: Environment, tables: Tables
    ) -> None:
        super().__init__(
            scope, construct_id, stack_name=stack_name, description="Carillon: API, scheduler, lanes and workers"
        )
        self._tables = tables
        self._lanes = {
            name: Lane(
                self,
                f"{in_pascal_case(name)}Lane",
                worker_timeout=worker_function.TIMEOUT,
                requires_tls=not environment.is_emulated,
            )
            for name in LANES
        }
        release = {"CARILLON_VERSION": version("carillon")}
        shards = {"CARILLON_SHARD_COUNT": str(environment.shard_count)}
        targets = {"CARILLON_INTERNAL_TARGETS": ",".join(environment.internal_targets)}
        queues = {queue_variable(name): lane.queue.queue_url for name, lane in self._lanes.items()}

        self.api = Api(
            self,
            "Api",
            variables={**self._names_of(permissions.API_TABLES), **shards, **release},
            environment=environment,
        )
        self._allow(self.api.role, permissions.API_TABLES)

        network = Network(self, "Network")
        cluster = ecs.Cluster(self, "Cluster", vpc=network.vpc)
        scheduler = SchedulerService(
            self,
            "Scheduler",
            cluster=cluster,
            network=network,
            variables={**self._names_of(permissions.SCHEDULER_TABLES), **queues, **shards, **release},
            environment=environment,
        )
        self._allow(scheduler.role, permissions.SCHEDULER_TABLES, queue_actions=permissions.SENDER)

        of_worker = {**self._names_of(permissions.WORKER_TABLES), **queues, **targets, **release}
        on_lambda = WorkerFunction(
            self, "WorkerFunction", lanes=self._lanes, variables=of_worker, environment=environment
        )
        on_ecs = WorkerService(
            self, "Worker", cluster=cluster, network=network, variables=of_worker, environment=environment
        )
        for role in (on_lambda.role, on_ecs.role):
            self._allow(role, permissions.WORKER_TABLES, queue_actions=permissions.CONSUMER)

        self._put_out(cluster, scheduler, on_ecs)

    def _names_of(self, logical_names: Iterable[str]) -> dict[str, str]:
        return {table_variable(name): self._tables[name].table_name for name in logical_names}

    def _allow(
        self, role: iam.Role, tables: permissions.TableActions, *, queue_actions: permissions.Actions = ()
    ) -> None:
        for name, actions in tables.items():
            self._tables.allow(role, name, actions)
        if queue_actions:
            arns = [lane.queue.queue_arn for lane in self._lanes.values()]
            role.add_to_policy(iam.PolicyStatement(actions=[*queue_actions], resources=arns))

    def _put_out(self, cluster: ecs.Cluster, scheduler: SchedulerService, worker: WorkerService) -> None:
        outputs = {
            "ApiId": self.api.http.api_id,
            "ApiUrl": self.api.http.api_endpoint,
            "ClusterName": cluster.cluster_name,
            "SchedulerServiceName": scheduler.service.service_name,
            "SchedulerTaskDefinition": scheduler.task_definition.task_definition_arn,
            "WorkerServiceName": worker.service.service_name,
            "WorkerTaskDefinition": worker.task_definition.task_definition_arn,
        }
        for name, lane in self._lanes.items():
            outputs[f"{in_pascal_case(name)}QueueUrl"] = lane.queue.queue_url
            outputs[f"{in_pascal_case(name)}DeadLetterQueueUrl"] = lane.dead_letters.queue_url
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
