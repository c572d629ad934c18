"""How services follow their load. Nodes scale in slowly: one that leaves moves its shards."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_sqs as sqs

from infra.metrics import age_of_what_waits, of_nodes
from infra.settings import TaskSettings

CPU_PERCENT = 60
#: A node holds 500,000 entries in 300 MB; past three fifths of that another one helps. One with a quarter of a core
#: keeps its loops' times with a hundred thousand (`make bench ONLY=quarter`).
FIRES_PER_NODE, FIRES_PER_QUARTER, QUARTER = 300_000, 100_000, 256
#: Messages that wait: one more task for the first hundreds, several for a herd.
_BACKLOG = (
    autoscaling.ScalingInterval(upper=10, change=-1),
    autoscaling.ScalingInterval(lower=200, change=1),
    autoscaling.ScalingInterval(lower=2_000, change=4),
)
#: Seconds that the oldest message has waited: runs are late, however few they are.
_AGE = (
    autoscaling.ScalingInterval(upper=5, change=0),
    autoscaling.ScalingInterval(lower=30, change=1),
    autoscaling.ScalingInterval(lower=120, change=2),
)
OUT = Duration.minutes(1)
IN = Duration.minutes(10)


def fires_per_node(cpu_units: int) -> int:
    """Entries beyond which another node helps."""
    return min(FIRES_PER_NODE, FIRES_PER_QUARTER * cpu_units // QUARTER)


def scale_nodes(service: ecs.FargateService, settings: TaskSettings, *, deployment: str) -> None:
    scaling = service.auto_scale_task_count(min_capacity=settings.tasks, max_capacity=settings.most)
    scaling.scale_on_cpu_utilization(
        "Cpu", target_utilization_percent=CPU_PERCENT, scale_out_cooldown=OUT, scale_in_cooldown=IN
    )
    scaling.scale_to_track_custom_metric(
        "OwnedFires",
        metric=of_nodes(deployment, "wheel_size", cloudwatch.Stats.AVERAGE),
        target_value=fires_per_node(settings.cpu_units),
        scale_out_cooldown=OUT,
        scale_in_cooldown=IN,
    )


def scale_workers(service: ecs.FargateService, settings: TaskSettings, *, queues: Sequence[sqs.IQueue]) -> None:
    scaling = service.auto_scale_task_count(min_capacity=settings.tasks, max_capacity=settings.most)
    for number, queue in enumerate(queues):
        scaling.scale_on_metric(
            f"Backlog{number}",
            metric=queue.metric_approximate_number_of_messages_visible(period=OUT),
            scaling_steps=list(_BACKLOG),
            cooldown=OUT,
        )
        scaling.scale_on_metric(
            f"Age{number}",
            metric=age_of_what_waits(queue),
            scaling_steps=list(_AGE),
            cooldown=OUT,
        )
