"""What a fleet takes while nothing fires, as the bill says it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest

from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from infra.cost import usage
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb import DynamoEntryStore, DynamoFleetStore, DynamoJobStore, DynamoRunStore
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames
from tests.emulator import aws_environment
from tests.metering import Cost, Meter

pytestmark = pytest.mark.emulator
SHARDS = 4


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def node(meter: Meter, emulator_endpoint: str, tables: TableNames) -> Iterator[Node]:
    """Alone, and in possession of every shard."""
    with aws_environment(emulator_endpoint):
        client = dynamodb_client()
    meter.watch(client)
    clock, dice = SystemClock(), SystemRandomness()
    calls = Calls(clock, dice)
    stores = (DynamoEntryStore(client, tables, calls), DynamoJobStore(client, tables, calls))
    ports = Ports(
        DynamoFleetStore(client, tables, calls), *stores, DynamoRunStore(client, tables, calls), {}, clock, dice
    )
    made = Node(ports, Settings("node-1", "test", SHARDS, slice_seconds=math.inf))
    made.start()
    for _ in range(3):
        made.beat_once()
        made.plan_once()
        made.load_once()
        made.sweep_once()
    yield made
    client.close()


def cost_of(meter: Meter, step: Callable[[], object]) -> Cost:
    with meter.counting(step.__name__) as cost:
        step()
    return cost


def test_a_beat_a_plan_and_a_sweep_take_what_the_bill_says(meter: Meter, node: Node) -> None:
    beat, plan, sweep = (cost_of(meter, step) for step in (node.beat_once, node.plan_once, node.sweep_once))

    assert (beat.writes, beat.reads) == (usage.WRITES_OF_A_BEAT, usage.READS_OF_A_BEAT)
    assert (plan.writes, plan.reads) == (0, usage.READS_OF_A_PLAN)
    # The bill has one for each shard.
    assert (sweep.writes, sweep.reads) == (0, SHARDS)


def test_nothing_else_is_asked_of_tables_while_nothing_fires(meter: Meter, node: Node) -> None:
    for step in (node.tick_once, node.dispatch_once, node.tidy_once, node.checkpoint_once, node.audit_once):
        cost = cost_of(meter, step)
        assert (cost.writes, cost.reads) == (0, 0), step.__name__
