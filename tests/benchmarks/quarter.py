"""What a node does with a part of a core: Fargate's smallest task has a quarter of one.

    python -P -m tests.benchmarks.quarter [--runs 3] [--entries 100000] [--shares 0.25 0.5 1]

A real node process under its real loops takes over the entries, keeps them, sweeps, and loads them again; and, in a
process of its own, fires as fast as it can. It has its share of each tenth of a second and is stopped for the rest
(`rig/limited.py`), from its start on. The queue answers after as long as SQS would, from another core.
"""

from __future__ import annotations

import argparse

from shared.domain.instants import HOUR, SECOND
from tests.benchmarks.outcome import Bench, Cell, Table, medians, say
from tests.benchmarks.rig.limited import limited
from tests.benchmarks.rig.one_node import Orders, ended, start
from tests.benchmarks.rig.sqs_stub import sqs_stub

LATENCY_MS = 10
SHARES = (0.25, 0.5, 1.0)
ENTRIES = 100_000
#: 28 fires a second, while ten jobs a second were created in the last four minutes: each sweep meets them.
PERIOD_MS, SCHEDULES, FIRST_FIRES_PER_S = HOUR, 10_000, 10
#: Twenty times as often as it is, so that a load goes on in most of the seconds that are watched.
LOAD_MS = 15 * SECOND
KEEPING_SECONDS, FIRING_SECONDS = 30.0, 10.0
#: Each fires every second: more than a core can send.
BUSY_JOBS_A_CORE = 20_000

LOADING = {
    "entries_per_s": "entries/s",
    "load_s": "seconds to take over",
    "load_cpu_s": "CPU s",
    "loading_beat_pause_ms": "longest pause of beats, ms",
    "loading_hot_pause_ms": "of ticks",
    "loading_housekeeping_pause_ms": "of plans",
    "loading_slice_ms": "longest slice, CPU ms",
}
KEEPING = {
    "late_p50_ms": "handed over, p50 ms",
    "late_p99_ms": "p99 ms",
    "late_max_ms": "max ms",
    "beat_pause_ms": "longest pause of beats, ms",
    "hot_pause_ms": "of ticks",
    "housekeeping_pause_ms": "of plans",
    "slice_ms": "longest slice, CPU ms",
    "cpu_share": "CPU, cores",
}
FIRING = {
    "slots_per_s": "slots/s",
    "cpu_us_per_slot": "CPU us a slot",
    "beat_pause_ms": "longest pause of beats, ms",
    "hot_pause_ms": "of ticks",
    "housekeeping_pause_ms": "of plans",
    "cpu_share": "CPU, cores",
}


def measure(orders: Orders, share: float) -> dict[str, float]:
    node = start(orders)
    with limited(node.pid, share):
        return ended(node)


def kept(endpoint: str, share: float, entries: int) -> dict[str, float]:
    orders = Orders(
        endpoint,
        jobs=entries,
        period_ms=PERIOD_MS,
        schedules=SCHEDULES,
        seconds=KEEPING_SECONDS,
        first_fires_per_s=FIRST_FIRES_PER_S,
        load_ms=LOAD_MS,
    )
    found = measure(orders, share)
    return {**found, "entries_per_s": found["residents"] / found["load_s"]}


def fired(endpoint: str, share: float) -> dict[str, float]:
    return measure(Orders(endpoint, jobs=round(BUSY_JOBS_A_CORE * share), seconds=FIRING_SECONDS), share)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--entries", type=int, default=ENTRIES)
    options.add_argument("--shares", type=float, nargs="+", default=SHARES)
    chosen = options.parse_args()
    bench = Bench("quarter")
    keeping: dict[float, dict[str, float]] = {}
    firing: dict[float, dict[str, float]] = {}
    with sqs_stub(latency_ms=LATENCY_MS) as endpoint:
        for share in chosen.shares:
            keeping[share] = medians([kept(endpoint, share, chosen.entries) for _ in range(chosen.runs)])
            firing[share] = medians([fired(endpoint, share) for _ in range(chosen.runs)])
            say(f"  {share}: {keeping[share]}", f"  {firing[share]}")

    def table(title: str, columns: dict[str, str], found: dict[float, dict[str, float]], note: str = "") -> Table:
        rows: list[list[Cell]] = [
            [f"{share:g}", *[each[column] for column in columns]] for share, each in found.items()
        ]
        return Table(title, ("of a core", *columns.values()), rows, note)

    figures = {f"{name}_at_{share:g}": each[name] for share, each in keeping.items() for name in (*LOADING, *KEEPING)}
    figures |= {f"firing_{name}_at_{share:g}": each[name] for share, each in firing.items() for name in FIRING}
    limit = (
        "The process is stopped (SIGSTOP) for the rest of each 100 ms of which it used its share, as a container with "
        "that quota is. A beat may be 3 s late, a plan 1.5 s; a dispatch that is handed over 300 ms late is on time. "
        "Where the machine is busy, a node gets less than its share: its CPU says how much."
    )
    again = (
        f"Each fires once an hour, {FIRST_FIRES_PER_S} jobs a second were created in the last four minutes, and all "
        f"are loaded again each {LOAD_MS // SECOND} s instead of each 300."
    )
    bench.report(
        runs=chosen.runs,
        figures=figures,
        tables=[
            table(f"A node with a part of a core takes over {chosen.entries:,} entries", LOADING, keeping, limit),
            table("... keeps them", KEEPING, keeping, again),
            table("... fires as fast as it can", FIRING, firing),
        ],
    )


if __name__ == "__main__":
    main()
