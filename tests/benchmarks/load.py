"""How long a node takes to take over entries, and how much memory it has then.

    python -P -m tests.benchmarks.load [--runs 3] [--sizes 10000 100000 500000] [--stored 10000]

A node process takes over a fleet's shards whose entries are recurring jobs with their next slot within six hours: all
stay resident. Rows are made when they are read, as DynamoDB's would be, and read by the real adapter; in this run the
table itself takes no time. Memory is the whole process, with Python and the clients. The same from tables in the
emulator, where most of the time is the emulator's.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client
from shared.adapters.dynamodb.entry_rows import write_entry
from shared.adapters.dynamodb.entry_store import DynamoEntryStore
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.adapters.memory.tables import MemoryTables
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.fleet import Lease
from shared.domain.instants import HOUR, Instant
from tests.benchmarks.outcome import Bench, Cell, Table, medians
from tests.benchmarks.rig.one_node import Orders, ended, start
from tests.benchmarks.rig.stored_jobs import StoredJobs
from tests.emulator import aws_environment, create_tables, running_emulator

#: Nobody listens there, and nothing is due.
NOWHERE = "http://127.0.0.1:9"
PERIOD_MS = 5 * HOUR
PUTS = 25
LARGE = 500_000

COLUMNS = {
    "load_cpu_s": "CPU s to take over",
    "us_per_entry": "us an entry",
    "mb": "MB of the process",
    "bytes_per_entry": "bytes an entry",
    "full_gc_ms": "full gc then, ms",
}


def measure(entries: int) -> dict[str, float]:
    orders = Orders(NOWHERE, jobs=entries, period_ms=PERIOD_MS, seconds=0.1, warm_seconds=0.1)
    found = ended(start(orders))
    if found["residents"] != entries:
        raise SystemExit(f"{found['residents']} of {entries} are resident")
    grown = (found["mb"] - found["ready_mb"]) * 2**20
    return {**found, "us_per_entry": found["load_cpu_s"] / entries * 1e6, "bytes_per_entry": grown / entries}


@contextmanager
def stored_in_emulator(entries: int) -> Iterator[DynamoEntryStore]:
    with (
        tempfile.TemporaryDirectory() as folder,
        running_emulator(Path(folder)) as endpoint,
        aws_environment(endpoint),
    ):
        client, clock = dynamodb_client(), SystemClock()
        tables = create_tables(client, "load")
        jobs = StoredJobs(entries, 1, clock.now(), PERIOD_MS)
        rows = [write_entry(entry) for page in jobs.announced(0, since=Instant(0), until=clock.now()) for entry in page]
        for first in range(0, entries, PUTS):
            puts: list[Any] = [{"PutRequest": {"Item": row}} for row in rows[first : first + PUTS]]
            client.batch_write_item(RequestItems={tables.job_schedules: puts})
        yield DynamoEntryStore(client, tables, Calls(clock, SystemRandomness()))


def from_emulator(store: DynamoEntryStore, entries: int) -> float:
    """Seconds from the plan that takes the shard until all is loaded."""
    clock, tables = SystemClock(), MemoryTables()
    tables.leases[0] = Lease(0, watermark=clock.now())
    ports = Ports(
        fleet=MemoryFleetStore(tables),
        entries=store,
        jobs=MemoryJobStore(tables),
        runs=MemoryRunStore(tables),
        queues={},
        clock=clock,
        randomness=SystemRandomness(),
    )
    node = Node(ports, Settings("node-bench", "bench", 1))
    node.start()
    node.beat_once()
    began = time.monotonic()
    node.plan_once()
    node.load_once()
    elapsed = time.monotonic() - began
    if node.shards[0].resident_count != entries:
        raise SystemExit(f"{node.shards[0].resident_count} of {entries} are resident")
    return elapsed


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, LARGE])
    options.add_argument("--stored", type=int, default=10_000, help="entries in the emulator")
    chosen = options.parse_args()
    bench = Bench("load")
    found = {entries: medians([measure(entries) for _ in range(chosen.runs)]) for entries in chosen.sizes}
    with stored_in_emulator(chosen.stored) as store:
        seconds = medians([{"s": from_emulator(store, chosen.stored)} for _ in range(chosen.runs)])["s"]
    rows: list[list[Cell]] = [
        [f"{entries:,}", *[figures[column] for column in COLUMNS]] for entries, figures in found.items()
    ]
    note = (
        f"From a table in the emulator a shard of {chosen.stored:,} entries takes {seconds:.1f} s, most of them the "
        "emulator's."
    )
    figures = {"emulator_s": seconds}
    if LARGE in found:
        figures |= {"node_mb_at_500000": found[LARGE]["mb"], "load_cpu_s_at_500000": found[LARGE]["load_cpu_s"]}
    bench.report(
        runs=chosen.runs,
        figures=figures,
        tables=[Table("A node that takes over entries", ("entries", *COLUMNS.values()), rows, note)],
    )


if __name__ == "__main__":
    main()
