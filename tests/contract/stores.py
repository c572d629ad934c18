"""Every port behind one adapter: what a contract suite is run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.adapters.aws.calls import Calls
from shared.adapters.dynamodb import (
    DynamoAccessStore,
    DynamoEntryStore,
    DynamoFleetStore,
    DynamoJobStore,
    DynamoRunStore,
)
from shared.adapters.memory import (
    ManualClock,
    MemoryAccessStore,
    MemoryEntryStore,
    MemoryFleetStore,
    MemoryJobStore,
    MemoryRunStore,
    MemoryTables,
    SeededRandomness,
)
from shared.config import TableNames
from shared.ports import AccessStore, EntryStore, FleetStore, JobStore, RunStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: Small, so that every suite turns pages.
PAGE_SIZE = 3


@dataclass(frozen=True)
class Stores:
    clock: ManualClock
    jobs: JobStore
    entries: EntryStore
    runs: RunStore
    fleet: FleetStore
    access: AccessStore


def memory_stores() -> Stores:
    clock = ManualClock()
    tables = MemoryTables(clock)
    return Stores(
        clock=clock,
        jobs=MemoryJobStore(tables),
        entries=MemoryEntryStore(tables, page_size=PAGE_SIZE),
        runs=MemoryRunStore(tables),
        fleet=MemoryFleetStore(tables),
        access=MemoryAccessStore(tables),
    )


def dynamo_stores(client: DynamoDBClient, names: TableNames) -> Stores:
    """Their pauses pass on the manual clock, in no time."""
    clock = ManualClock()
    calls = Calls(clock, SeededRandomness())
    return Stores(
        clock=clock,
        jobs=DynamoJobStore(client, names, calls),
        entries=DynamoEntryStore(client, names, calls, page_size=PAGE_SIZE),
        runs=DynamoRunStore(client, names, calls),
        fleet=DynamoFleetStore(client, names, calls),
        access=DynamoAccessStore(client, names, calls),
    )
