from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from infra import bundle
from infra.components.lane import Lane
from infra.components.python_function import PythonFunction, published
from infra.settings import Environment, LaneSettings

#: The longest that Lambda runs anything: a run on this host ends earlier.
TIMEOUT = Duration.minutes(15)
BATCH = 10
#: The folder of the deployment's own handlers, in the bundle.
HANDLERS = "handlers"
#: A poller runs ten batches at once; AWS keeps at least two, ready at all times.
BATCHES_OF_A_POLLER = 10
LEAST_POLLERS = 2


class WorkerFunction(Construct):
    """The worker on Lambda, mapped to every lane; a lane that ECS works has its mapping switched off.

    The mappings call the alias, so that a deployment goes from one published version to the next at once.
    """

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
        handlers = environment.handlers
        source = bundle.WORKER if handlers is None else replace(bundle.WORKER, besides=((HANDLERS, handlers.path),))
        worker = PythonFunction(
            self,
            "Handler",
            source=source,
            handler="functions.worker.lambda_host.handler",
            variables={**variables, **({} if handlers is None else handlers.variables(HANDLERS))},
            timeout=TIMEOUT,
            memory_mb=environment.worker_memory_mb,
            environment=environment,
            reserved_concurrency=environment.reserved_concurrency,
            snap_start=environment.worker_snap_start and not environment.is_emulated,
            is_traced=True,
        )
        self.role = worker.role
        self.function = worker.function
        target = worker.function if environment.is_emulated else published(worker.function)
        for name, lane in lanes.items():
            target.add_event_source(_mapping(lane, environment.lanes[name]))


def _mapping(lane: Lane, settings: LaneSettings) -> event_sources.SqsEventSource:
    is_warm = settings.host == "lambda-warm"
    most = max(LEAST_POLLERS, -(-settings.concurrency // BATCHES_OF_A_POLLER))
    return event_sources.SqsEventSource(
        lane.queue,
        batch_size=BATCH,
        # A window would wait for a batch to fill, and that is drift.
        max_batching_window=Duration.seconds(0),
        enabled=settings.is_on_lambda,
        # AWS takes one of the two.
        max_concurrency=None if is_warm else settings.concurrency,
        provisioned_poller_config=(
            lambda_.ProvisionedPollerConfig(minimum_pollers=LEAST_POLLERS, maximum_pollers=most) if is_warm else None
        ),
        report_batch_item_failures=True,
    )
