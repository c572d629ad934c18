"""Whether what a node does grows with how many jobs are stored, and with how many nodes there are.

    python -P -m tests.benchmarks.growth [--runs 3] [--seconds 2] [--rate 500] [--sizes 1000 10000 100000 500000]

The same fire rate throughout: the more jobs, the longer their period. One node process with all of them resident; then
the same jobs divided among 1, 2 and 4 node processes. The queue takes everything at once. Drift here is how long after
its time (fire_at - lead) a slot is handed to the queue, which waits up to a third of the lead to fill a batch of ten.
"""

from __future__ import annotations

import argparse

from shared.domain.instants import SECOND
from tests.benchmarks.outcome import Bench, Cell, Table, medians
from tests.benchmarks.rig.one_node import Orders, ended, start
from tests.benchmarks.rig.sqs_stub import sqs_stub

COLUMNS = {
    "slots_per_s": "slots/s",
    "late_p50_ms": "handed over, p50 ms",
    "late_p99_ms": "p99 ms",
    "late_max_ms": "max ms",
    "cpu_us_per_slot": "CPU us a slot",
    "cpu_share": "CPU, cores",
}
NODES = (1, 2, 4)
SPREAD_JOBS = 10_000


def measure(endpoint: str, *, jobs: int, rate: int, seconds: float, nodes: int = 1) -> dict[str, float]:
    """Of several nodes: their sum, and the latest."""
    orders = Orders(endpoint, jobs // nodes, jobs * SECOND // rate, schedules=jobs, seconds=seconds, warm_seconds=1.0)
    found = [ended(node) for node in [start(orders) for _ in range(nodes)]]
    slots = sum(each["slots_per_s"] for each in found)
    cpu = sum(each["cpu_share"] for each in found)
    latest = {name: max(each[name] for each in found) for name in COLUMNS if name.startswith("late")}
    return {**latest, "slots_per_s": slots, "cpu_share": cpu, "cpu_us_per_slot": cpu / max(slots, 1) * 1e6}


def table(title: str, head: str, found: dict[int, dict[str, float]]) -> Table:
    rows: list[list[Cell]] = [
        [f"{count:,}", *[figures[column] for column in COLUMNS]] for count, figures in found.items()
    ]
    return Table(title, (head, *COLUMNS.values()), rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--rate", type=int, default=500)
    options.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 500_000])
    chosen = options.parse_args()
    bench = Bench("growth")
    how = {"rate": chosen.rate, "seconds": chosen.seconds}
    with sqs_stub() as endpoint:
        by_size = {
            jobs: medians([measure(endpoint, jobs=jobs, **how) for _ in range(chosen.runs)]) for jobs in chosen.sizes
        }
        by_nodes = {
            nodes: medians([measure(endpoint, jobs=SPREAD_JOBS, nodes=nodes, **how) for _ in range(chosen.runs)])
            for nodes in NODES
        }
    smallest, largest = by_size[min(by_size)], by_size[max(by_size)]
    bench.report(
        runs=chosen.runs,
        figures={
            "cpu_of_largest_to_smallest": largest["cpu_us_per_slot"] / smallest["cpu_us_per_slot"],
            "late_p99_ms_of_largest": largest["late_p99_ms"],
            "late_p99_ms_of_smallest": smallest["late_p99_ms"],
        },
        tables=[
            table(f"Stored jobs, {chosen.rate} fires a second", "jobs", by_size),
            table(f"Node processes, {SPREAD_JOBS:,} jobs, {chosen.rate} fires a second", "nodes", by_nodes),
        ],
    )


if __name__ == "__main__":
    main()
