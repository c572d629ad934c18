"""The worker's composition root: the only file here that knows an adapter."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from carillon.handlers import registry
from functions.worker.parts import WorkerParts
from functions.worker.process_host import HostSettings, LaneHost, ProcessHost
from functions.worker.protection import Protection
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Target, Targets
from functions.worker.targets.aws_api import AwsApiTarget
from functions.worker.targets.gate import Gate
from functions.worker.targets.guard import Guard
from functions.worker.targets.handler import HandlerTarget
from functions.worker.targets.http import HttpTarget
from functions.worker.targets.http_client import HttpClient
from functions.worker.targets.lambda_function import LambdaTarget
from functions.worker.targets.pausing import Pauses
from functions.worker.targets.secrets import Secrets
from functions.worker.targets.signatures import Signatures
from functions.worker.tracing import traced
from shared.adapters.aws.api import BotoAwsApi
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, ecs_client, sqs_client
from shared.adapters.aws.direct import directly
from shared.adapters.dynamodb.access_store import DynamoAccessStore
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.ecs import EcsAgent, EcsService, NoTaskProtection
from shared.adapters.eventbridge import event_bus_from
from shared.adapters.sqs.dead_letter_queue import SqsDeadLetterQueue
from shared.adapters.sqs.due_queue import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.adapters.tracing import traces_from
from shared.config import (
    HANDLERS_FOLDER_VARIABLE,
    HANDLERS_VARIABLE,
    INTERNAL_TARGETS_VARIABLE,
    ConfigurationMissing,
    TableNames,
    dead_letter_urls,
    http_needs_grant,
    metrics_namespace,
    own_resources,
    pulse_folder,
    queue_urls,
    queue_variable,
    region,
    required,
    shard_count,
    table_variable,
)
from shared.domain.addresses import parse_internal_targets
from shared.domain.grants import GrantRules, OwnResources
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.observability.pulse import Pulse
from shared.ports import AccessStore, Clock, JobStore
from shared.ports.task_protection import TaskProtection
from shared.schema import DEFAULT_LANE

#: ECS sets both in each container.
_AGENT_VARIABLE = "ECS_AGENT_URI"
_METADATA_VARIABLE = "ECS_CONTAINER_METADATA_URI_V4"
_EXAMPLES = "functions.worker.examples"
_CODE = Path(__file__).resolve().parents[2]
_TABLES = ("jobs", "job_schedules", "job_runs", "access")


def process_host_from(environment: Mapping[str, str]) -> ProcessHost:
    """Every lane that the environment names a queue for. Raises ConfigurationMissing, ValueError, ImportError."""
    host = HostSettings()
    parts = parts_from(environment, host="ecs", longest_wait_seconds=host.wait_seconds)
    pulse = Pulse(pulse_folder(environment))
    pulse.begin()
    lanes = {
        lane: LaneHost(
            lane, queue, parts.executor(lane), clock=parts.clock, worker=parts.settings, host=host, pulse=pulse
        )
        for lane, queue in parts.queues.items()
    }
    protection = Protection(_task_from(environment), parts.clock, stop_ms=host.stop_ms)
    return ProcessHost(
        lanes,
        clock=parts.clock,
        host=host,
        metrics=parts.metrics,
        protection=protection,
        announcements=parts.announcements,
    )


def _task_from(environment: Mapping[str, str]) -> TaskProtection:
    agent_uri, metadata_uri = environment.get(_AGENT_VARIABLE), environment.get(_METADATA_VARIABLE)
    if not agent_uri:
        return NoTaskProtection()
    return EcsAgent(agent_uri, EcsService(metadata_uri, ecs_client) if metadata_uri else None)


def parts_from(environment: Mapping[str, str], *, host: str, longest_wait_seconds: int = 0) -> WorkerParts:
    """Over DynamoDB and SQS; `host` is how metrics name it. Raises ConfigurationMissing, ValueError, ImportError."""
    for name in _TABLES:
        required(environment, table_variable(name))
    urls = queue_urls(environment)
    if not urls:
        raise ConfigurationMissing(queue_variable(DEFAULT_LANE))
    settings = WorkerSettings.from_environment(environment)
    tables = TableNames.from_environment(environment)
    clock, randomness = SystemClock(), SystemRandomness()
    calls = Calls(clock, randomness)
    # What is called for each batch, and takes most of a worker's time.
    dynamodb = directly(dynamodb_client(), "batch_execute_statement", "batch_get_item")
    sqs = sqs_client(longest_wait_seconds=longest_wait_seconds)
    sqs = directly(sqs, "receive_message", "delete_message_batch")
    job_store = DynamoJobStore(dynamodb, tables, calls)
    announcements = Announcements(event_bus_from(environment, clock, randomness))
    access = DynamoAccessStore(dynamodb, tables, calls)
    traces = traces_from(environment, service="worker")
    return WorkerParts(
        queues={lane: SqsDueQueue(sqs, url, calls) for lane, url in urls.items()},
        lanes_by_queue_name={url.rpartition("/")[2]: lane for lane, url in urls.items()},
        dead_letters={lane: SqsDeadLetterQueue(sqs, url, calls) for lane, url in dead_letter_urls(environment).items()},
        run_store=DynamoRunStore(dynamodb, tables, calls),
        entry_store=DynamoEntryStore(dynamodb, tables, calls),
        job_store=job_store,
        targets=traced(
            _targets_from(environment, clock, job_store=job_store, access=access, announcements=announcements),
            traces,
        ),
        clock=clock,
        randomness=randomness,
        settings=settings,
        metrics=MetricLog(metrics_namespace(environment), {"service": "worker", "host": host}),
        announcements=announcements,
        traces=traces,
    )


def register_handlers(environment: Mapping[str, str]) -> None:
    """The examples, and those of the deployment. Raises ImportError."""
    folder = environment.get(HANDLERS_FOLDER_VARIABLE)
    if folder:
        # At the end: what lies there beside the handlers replaces nothing of the worker's.
        sys.path.append(str(_CODE / folder))
    for module in (_EXAMPLES, *filter(None, environment.get(HANDLERS_VARIABLE, "").split(","))):
        import_module(module.strip())


def _targets_from(
    environment: Mapping[str, str],
    clock: Clock,
    *,
    job_store: JobStore,
    access: AccessStore,
    announcements: Announcements,
) -> Targets:
    register_handlers(environment)
    guard = Guard(parse_internal_targets(environment.get(INTERNAL_TARGETS_VARIABLE, "")), clock)
    rules = GrantRules(is_http_open=not http_needs_grant(environment), own=OwnResources(own_resources(environment)))
    gate = Gate(rules, access, clock, region=region(environment))
    api = BotoAwsApi(clock)
    webhooks = HttpTarget(
        HttpClient(guard, clock),
        clock,
        gate=gate,
        secrets=Secrets(api, clock),
        signatures=Signatures(access, clock),
        pauses=Pauses(job_store, clock, shard_count=shard_count(environment), announce=announcements.add),
    )
    by_type: dict[str, Target] = {
        "http": webhooks,
        "handler": HandlerTarget(registry),
        "lambda": LambdaTarget(api),
        "aws": AwsApiTarget(api, region=region(environment)),
    }
    return Targets(by_type, gate)
