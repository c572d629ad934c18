"""How long a node takes to take over entries, and how much memory it has then.

    python -P -m tests.benchmarks.load [--runs 3] [--sizes 10000 100000 500000]

A node process takes over a fleet's shards whose entries are recurring jobs with their next slot within six hours: all
stay resident. Rows are made when they are read, as DynamoDB's would be, and read by the real adapter; the table itself
takes no time (`load_from_tables` has one). Memory is the whole process, with Python and the clients.
"""

from __future__ import annotations

import argparse

from shared.domain.instants import HOUR
from tests.benchmarks.outcome import Bench, Cell, Table, medians
from tests.benchmarks.rig.one_node import Orders, ended, start

#: Nobody listens there, and nothing is due.
NOWHERE = "http://127.0.0.1:9"
PERIOD_MS = 5 * HOUR
LARGE = 500_000
SIZES = (10_000, 100_000, LARGE)

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


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    chosen = options.parse_args()
    bench = Bench("load")
    found = {entries: medians([measure(entries) for _ in range(chosen.runs)]) for entries in chosen.sizes}
    rows: list[list[Cell]] = [
        [f"{entries:,}", *[figures[column] for column in COLUMNS]] for entries, figures in found.items()
    ]
    figures = {}
    if LARGE in found:
        figures = {"node_mb_at_500000": found[LARGE]["mb"], "load_cpu_s_at_500000": found[LARGE]["load_cpu_s"]}
    bench.report(
        runs=chosen.runs,
        figures=figures,
        tables=[Table("A node that takes over entries", ("entries", *COLUMNS.values()), rows)],
    )


if __name__ == "__main__":
    main()
