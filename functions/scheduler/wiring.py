"""The scheduler's composition root: the only file here that knows an adapter."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from functions.scheduler.node import Node
from functions.scheduler.runner import Runner
from functions.scheduler.settings import Ports, R, Settings, Spread, T, in_order
from functions.scheduler.tracing import traced
from shared.adapters.aws.calls import Calls, Patience, RetryBudget
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.aws.direct import directly
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.dynamodb.fleet_store import DynamoFleetStore
from shared.adapters.dynamodb.job_store import DynamoJobStore
from shared.adapters.dynamodb.run_store import DynamoRunStore
from shared.adapters.eventbridge import event_bus_from
from shared.adapters.sqs.due_queue import SqsDueQueue
from shared.adapters.system import SystemRandomness, system_clock
from shared.adapters.tracing import traces_from
from shared.config import TableNames, metrics_namespace, pulse_folder, queue_urls, required, table_variable
from shared.observability.announcing import Announcements
from shared.observability.logs import logger_for
from shared.observability.metrics import MetricLog
from shared.observability.pulse import Pulse

#: Calls at once that park entries.
MOVERS = 8
_TABLES = ("jobs", "job_schedules", "job_runs", "fleet")


def build_runner(environment: Mapping[str, str]) -> Runner:
    """A node over DynamoDB and SQS, as the environment says. Raises ConfigurationMissing."""
    for name in _TABLES:
        required(environment, table_variable(name))
    tables = TableNames.from_environment(environment)
    clock, randomness = system_clock(environment), SystemRandomness()
    # Sweeps and loads: an answer of many entries is read in a fifth of the time.
    dynamodb = directly(dynamodb_client(), "query", "batch_get_item", "batch_write_item")
    settings = Settings.from_environment(environment, node_id=f"node-{randomness.random_bytes(8).hex()}")
    sqs = directly(sqs_client(connections=settings.senders), "send_message_batch")
    calls = Calls(clock, randomness, Patience(budget=RetryBudget()))
    traces = traces_from(environment, service="scheduler")
    ports = Ports(
        fleet=DynamoFleetStore(dynamodb, tables, calls),
        entries=DynamoEntryStore(dynamodb, tables, calls),
        jobs=DynamoJobStore(dynamodb, tables, calls),
        runs=DynamoRunStore(dynamodb, tables, calls),
        queues={lane: traced(SqsDueQueue(sqs, url, calls), traces) for lane, url in queue_urls(environment).items()},
        clock=clock,
        randomness=randomness,
        announcements=Announcements(event_bus_from(environment, clock, randomness)),
    )
    logger_for("scheduler").append_keys(node_id=settings.node_id)
    metrics = MetricLog(metrics_namespace(environment), {"service": "scheduler"}, {"node_id": settings.node_id})
    # Threads of their own: a herd that is parked must not hold up one that is sent.
    node = Node(ports, settings, over_threads(settings.senders, "sender"), over_threads(MOVERS, "mover"))
    return Runner(node, clock, Pulse(pulse_folder(environment)), metrics)


def over_threads(count: int, name: str) -> Spread:
    """Several calls at once when there are several; a lone one costs no change of thread."""
    pool = ThreadPoolExecutor(count, thread_name_prefix=name)

    def spread(call: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]:
        waiting = list(items)
        return pool.map(call, waiting) if len(waiting) > 1 else in_order(call, waiting)

    return spread


def stop_on_signal(stop: Callable[[], None]) -> None:
    """SIGTERM is what ECS sends, SIGINT what a terminal does."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop())
