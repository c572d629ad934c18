"""How many slots one node process hands over in a second, on one core, to a queue that takes everything at once.

    python -P -m tests.benchmarks.dispatch [--runs 3] [--seconds 4] [--jobs 40000]

The node is the real one under its real loops, with the network in it; its tables take no time. Resident
recurring jobs (cron, with a zone) fire each second, more of them than it can send, so that it is never idle. The queue
is `rig/sqs_stub.py`, a process of its own. Two nodes share the jobs. Where the time goes is counted with a profiler in
a run of its own, on one thread.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import time
from collections.abc import Mapping
from typing import Any

from functions.scheduler.runner import TICK_SECONDS
from functions.scheduler.settings import in_order
from tests.benchmarks.outcome import Bench, Cell, Table, medians
from tests.benchmarks.rig.one_node import Orders, ended, node_over, start
from tests.benchmarks.rig.sqs_stub import sqs_stub

COLUMNS = {
    "slots_per_s": "slots/s",
    "cpu_us_per_slot": "CPU us a slot",
    "cpu_share": "of a core",
}
#: Functions whose time, with all they call but for other parts, is one part of a slot's way; by file and name.
PARTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "wheel": (("wheel/timing_wheel.py", "expire"), ("wheel/timing_wheel.py", "schedule")),
    "next slot of the schedule": (("schedules/slots.py", "next_slot"),),
    "firing: entry, slot, what is in flight": (("scheduler/shard.py", "_fire"),),
    "outbox": (("scheduler/outbox.py", "put"), ("scheduler/outbox.py", "take")),
    "the dispatch and its body": (("scheduler/rows.py", "dispatch_of"), ("domain/message.py", "encode")),
    "headers and signature": (("aws/direct.py", "_signed"),),
    "HTTP and the socket": (("aws/direct.py", "_send"),),
    "the call, all else": (("aws/direct.py", "__call__"),),
    "settling": (("scheduler/dispatching.py", "_take_report"),),
}
#: What is called by other parts alone; a part comes after those that are inside of it.
INSIDE = {
    "firing: entry, slot, what is in flight": ("next slot of the schedule",),
    "HTTP and the socket": ("headers and signature",),
    "the call, all else": ("headers and signature", "HTTP and the socket"),
}
PROFILED_SLOTS = 10_000
#: About what SQS takes for a batch.
LATENCY_MS = 10
#: By file, line and name: calls, ..., own and whole seconds.
Timings = Mapping[tuple[str, int, str], tuple[int, int, float, float, Any]]
#: So few that the profiled node keeps up, and does nothing that it need not do.
PROFILED_JOBS = 2_000


def measure(endpoint: str, nodes: int, *, jobs: int, seconds: float) -> dict[str, float]:
    """The first node has a core of its own; a second one shares the other with the queue."""
    orders = [
        Orders(endpoint, jobs=jobs // nodes, seconds=seconds, core=number % (os.cpu_count() or 1))
        for number in range(nodes)
    ]
    found = [ended(node) for node in [start(each) for each in orders]]
    total = {name: sum(each[name] for each in found) for name in ("slots_per_s", "cpu_share")}
    return {**total, "cpu_us_per_slot": sum(each["cpu_us_per_slot"] for each in found) / nodes}


def profile(endpoint: str) -> dict[str, float]:
    """Microseconds a slot by part, as the profiler sees them: their ratios count, not their sum."""
    node, _ = node_over(Orders(endpoint, jobs=PROFILED_JOBS))
    node.dispatcher.spread = in_order
    node.start()
    node.beat_once()
    node.plan_once()
    while node.load_once():
        pass
    profiler, beaten_at = cProfile.Profile(), float("-inf")
    while node.counts.accepted < PROFILED_SLOTS:
        if time.monotonic() - beaten_at > 1:
            node.beat_once()
            node.plan_once()
            node.checkpoint_once()
            beaten_at = time.monotonic()
        profiler.enable()
        node.tick_once()
        node.dispatch_once()
        profiler.disable()
        # As in `runner.py`.
        time.sleep(TICK_SECONDS)
    stats = pstats.Stats(profiler)
    return parts_of(stats)


def parts_of(stats: pstats.Stats) -> dict[str, float]:
    timings: Timings = stats.stats  # type: ignore[attr-defined]
    spent = {part: sum(spent_in(timings, each) for each in functions) for part, functions in PARTS.items()}
    # A timer is put into the wheel again by who fires it.
    scheduling = spent_in(timings, ("wheel/timing_wheel.py", "schedule"))
    spent["firing: entry, slot, what is in flight"] -= scheduling
    for part, inner in INSIDE.items():
        spent[part] -= sum(spent[each] for each in inner)
    steps = ("tick_once", "dispatch_once")
    whole = sum(spent_in(timings, ("scheduler/dispatching.py", step)) for step in steps)
    spent["the rest of the node"] = whole - sum(spent.values())
    return {part: seconds / PROFILED_SLOTS * 1e6 for part, seconds in spent.items()}


def spent_in(timings: Timings, function: tuple[str, str]) -> float:
    """Seconds in a function and all it calls."""
    path, name = function
    return sum(timing[3] for (file, _, its), timing in timings.items() if file.endswith(path) and its == name)


def profile_table(parts: Mapping[str, float]) -> Table:
    whole = sum(parts.values())
    rows: list[list[Cell]] = [[part, 100 * us / whole] for part, us in sorted(parts.items(), key=lambda each: -each[1])]
    return Table("Where the time of a slot goes, one thread, under a profiler", ("part", "%"), rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--seconds", type=float, default=4.0)
    options.add_argument("--jobs", type=int, default=40_000)
    chosen = options.parse_args()
    bench = Bench("dispatch")

    def measured(endpoint: str, nodes: int) -> dict[str, float]:
        return medians([measure(endpoint, nodes, jobs=chosen.jobs, seconds=chosen.seconds) for _ in range(chosen.runs)])

    with sqs_stub() as endpoint:
        found = {nodes: measured(endpoint, nodes) for nodes in (1, 2)}
        parts = profile(endpoint)
    with sqs_stub(latency_ms=LATENCY_MS) as endpoint:
        behind_network = measured(endpoint, 1)
    rows: list[list[Cell]] = [[f"{nodes}", *[each[column] for column in COLUMNS]] for nodes, each in found.items()]
    rows.append([f"1, each call taking {LATENCY_MS} ms", *[behind_network[column] for column in COLUMNS]])
    note = "A node has one core; with two nodes on two cores the queue takes its time from them."
    bench.report(
        runs=chosen.runs,
        figures={
            **{name: found[1][name] for name in COLUMNS},
            "slots_per_cpu_s": 1e6 / found[1]["cpu_us_per_slot"],
            "slots_per_s_of_two": found[2]["slots_per_s"],
            "slots_per_s_at_10_ms": behind_network["slots_per_s"],
        },
        tables=[
            Table("Dispatch to a queue that answers at once", ("node processes", *COLUMNS.values()), rows, note),
            profile_table(parts),
        ],
    )


if __name__ == "__main__":
    main()
