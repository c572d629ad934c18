from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.carillon import Carillon
from infra.components.data import Data
from infra.settings import Environment
from infra.words import in_pascal_case


class ServiceStack(Stack):
    """Everything that may be replaced, and the outputs by which people and programs find it."""

    def __init__(
        self, scope: Construct, construct_id: str, *, stack_name: str, environment: Environment, data: Data
    ) -> None:
        super().__init__(
            scope, construct_id, stack_name=stack_name, description="Carillon: API, scheduler, lanes and workers"
        )
        self.carillon = Carillon(self, "Carillon", environment=environment, data=data)
        for name, value in self._outputs().items():
            CfnOutput(self, name, value=value)

    def _outputs(self) -> dict[str, str]:
        carillon = self.carillon
        outputs = {
            "AlarmTopic": carillon.alarms.topic.topic_arn,
            "ApiId": carillon.api.http.api_id,
            "ApiUrl": carillon.api.http.api_endpoint,
            "ClusterName": carillon.cluster.cluster_name,
            "EventBusName": carillon.events.event_bus_name,
            "SchedulerServiceName": carillon.scheduler.service.service_name,
            "SchedulerTaskDefinition": carillon.scheduler.task_definition.task_definition_arn,
            "WorkerServiceName": carillon.worker.service.service_name,
            "WorkerTaskDefinition": carillon.worker.task_definition.task_definition_arn,
        }
        logs = {
            "Api": carillon.api.function.log_group,
            "DeadLetters": carillon.settling.function.log_group,
            "Scheduler": carillon.scheduler.log.group,
            "Worker": carillon.worker.log.group,
            "WorkerFunction": carillon.worker_function.function.log_group,
        }
        outputs |= {f"{name}Log": group.log_group_name for name, group in logs.items()}
        if carillon.domain is not None:
            outputs["ApiDomainTarget"] = carillon.domain.target
        outputs["UndeliveredQueueUrl"] = carillon.undelivered.queue.queue_url
        for name, lane in carillon.lanes.items():
            outputs[f"{in_pascal_case(name)}QueueUrl"] = lane.queue.queue_url
            outputs[f"{in_pascal_case(name)}DeadLetterQueueUrl"] = lane.dead_letters.queue_url
        return outputs
