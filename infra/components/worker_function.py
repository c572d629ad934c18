from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from infra import bundle
from infra.components.lane import Lane
from infra.components.python_function import PythonFunction
from infra.environments import Environment

#: The longest that Lambda runs anything: a run on this host ends earlier.
TIMEOUT = Duration.minutes(15)
MEMORY_MB = 512
BATCH = 10


class WorkerFunction(Construct):
    """The worker on Lambda, mapped to every lane; a lane that ECS works has its mapping switched off."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        lanes: Mapping[str, Lane],
        variables: Mapping[str, str],
        environment: Environment,
    ) -> None:
        super().__init__(scope, construct_id)
        worker = PythonFunction(
            self,
            "Handler",
            source=bundle.WORKER,
            handler="functions.worker.lambda_host.handler",
            variables=variables,
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            environment=environment,
            reserved_concurrency=environment.worker_reserved_concurrency,
        )
        self.role = worker.role
        for name, lane in lanes.items():
            settings = environment.lanes[name]
            worker.function.add_event_source(
                event_sources.SqsEventSource(
                    lane.queue,
                    batch_size=BATCH,
                    enabled=settings.host == "lambda",
                    max_concurrency=settings.concurrency,
                    report_batch_item_failures=True,
                )
            )
