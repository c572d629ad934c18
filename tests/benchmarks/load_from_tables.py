"""How long a node takes to take over a shard from a table that answers over HTTP.

    python -P -m tests.benchmarks.load_from_tables [--sizes 10000 100000 500000] [--only dynalite emulator] [--runs 3]

From dynalite, whose pages cost what they hold, as DynamoDB's do; and from the emulator that the tests use, which goes
through the whole partition for each page. There pages are as large as DynamoDB's may be, and of more than 10,000
entries there is one run: 500,000 take about an hour.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.aws.direct import directly
from shared.adapters.dynamodb.batches import WRITE_BATCH
from shared.adapters.dynamodb.entry_store import PAGE_SIZE, DynamoEntryStore
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.adapters.memory.tables import MemoryTables
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames
from shared.domain.fleet import Lease
from shared.domain.instants import Instant
from tests.benchmarks.load import PERIOD_MS, SIZES
from tests.benchmarks.outcome import Bench, Cell, Table, medians, say
from tests.benchmarks.rig.servers import ServerMissing, dynalite, throwaway_folder
from tests.benchmarks.rig.stored_jobs import StoredJobs
from tests.emulator import aws_environment, create_tables, running_emulator

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

#: As many entries as a page of DynamoDB, 1 MB, holds, and some more.
LARGEST_PAGE = 5_000
#: What one page of the emulator may take: half a minute for 500,000 entries.
READ_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Store:
    name: str
    title: str
    #: Its URL.
    running: Callable[[Path], AbstractContextManager[str]]
    page_size: int
    #: Beyond these one run has to be enough.
    most_repeated: int


@contextmanager
def _dynalite(folder: Path) -> Iterator[str]:
    with dynalite(folder) as (url, _):
        yield url


STORES = (
    Store("dynalite", "dynalite", _dynalite, PAGE_SIZE, most_repeated=max(SIZES)),
    Store("emulator", "the emulator", running_emulator, LARGEST_PAGE, most_repeated=min(SIZES)),
)


def fill(client: DynamoDBClient, tables: TableNames, entries: int) -> None:
    now = SystemClock().now()
    for page in StoredJobs(entries, 1, now, PERIOD_MS).announced(0, since=Instant(0), until=now):
        for first in range(0, len(page), WRITE_BATCH):
            rows = [stored.row for stored in page[first : first + WRITE_BATCH]]
            client.batch_write_item(
                RequestItems={tables.job_schedules: [{"PutRequest": {"Item": row}} for row in rows]}
            )


def take_over(entry_store: DynamoEntryStore, entries: int) -> dict[str, float]:
    """Seconds from the plan that takes the shard until all is loaded, and the node's own share of them."""
    clock, tables = SystemClock(), MemoryTables()
    tables.leases[0] = Lease(0, watermark=clock.now())
    ports = Ports(
        fleet=MemoryFleetStore(tables),
        entries=entry_store,
        jobs=MemoryJobStore(tables),
        runs=MemoryRunStore(tables),
        queues={},
        clock=clock,
        randomness=SystemRandomness(),
    )
    # Twice as many would fit, so that all of them stay.
    node = Node(ports, Settings("node-bench", "bench", 1, most_residents=2 * entries))
    node.start()
    node.beat_once()
    began, cpu = time.monotonic(), time.process_time()
    node.plan_once()
    while node.load_once():
        pass
    found = {"seconds": time.monotonic() - began, "cpu_s": time.process_time() - cpu}
    if node.shards[0].resident_count != entries:
        raise SystemExit(f"{node.shards[0].resident_count} of {entries} are resident")
    return found


def measured(store: Store, entries: int, runs: int) -> dict[str, float]:
    """Raises ServerMissing."""
    runs = runs if entries <= store.most_repeated else 1
    with throwaway_folder() as folder, store.running(folder) as url, aws_environment(url):
        client = dynamodb_client(read_timeout_seconds=READ_TIMEOUT_SECONDS)
        tables = create_tables(client, "load")
        fill(client, tables, entries)
        calls = Calls(SystemClock(), SystemRandomness())
        # As a node's client does.
        entry_store = DynamoEntryStore(directly(client, "query"), tables, calls, page_size=store.page_size)
        found = medians([take_over(entry_store, entries) for _ in range(runs)])
    say(f"  {store.name}, {entries:,}: {found}")
    return {**found, "us_per_entry": found["seconds"] / entries * 1e6, "runs": runs}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options.add_argument("--only", nargs="+", default=[store.name for store in STORES])
    chosen = options.parse_args()
    bench = Bench("load_from_tables")
    rows: list[list[Cell]] = []
    for store in (store for store in STORES if store.name in chosen.only):
        for entries in chosen.sizes:
            try:
                found = measured(store, entries, chosen.runs)
            except ServerMissing as missing:
                say(f"  {store.name}: skipped, {missing}")
                break
            costs = (found[name] for name in ("seconds", "cpu_s", "us_per_entry"))
            rows.append([f"{store.title}, {entries:,}", *costs, found["runs"]])
    if not rows:
        return bench.skip("no store is here")
    note = (
        "A page costs dynalite what it holds, as it does DynamoDB. The emulator goes through the whole partition for "
        f"each page ({LARGEST_PAGE:,} entries or 1 MB there, {PAGE_SIZE} elsewhere): its seconds are its own."
    )
    columns = ("from a table in", "seconds to take over", "the node's CPU s", "us an entry", "runs")
    bench.report(runs=chosen.runs, figures={}, tables=[Table("A shard taken over from a table", columns, rows, note)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
