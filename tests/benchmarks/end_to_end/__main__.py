"""Drift, throughput and cost of the whole system: the local stack, given jobs over HTTP as a user would.

    python -P -m tests.benchmarks.end_to_end [--runs 3] [--only herd ...] [--scale 0.1]

Everything is real but AWS: two nodes and the ECS worker as processes, the API and the tables in the emulator, which is
one core. Each run has a system of its own, and begins with the herd, for what is left in the emulator's memory slows it
down: in three runs over one emulator the p99 of `spread` was 3, 64 and 292 ms. Drift is what the runs' rows say. With
`--scale` or `--only` the results are printed and not kept.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from tests.benchmarks.end_to_end.figures import medians_of
from tests.benchmarks.end_to_end.system import PARTS, System, running_system
from tests.benchmarks.end_to_end.work import EACH_SECOND, HERD, NOW, SPREAD, Work
from tests.benchmarks.outcome import Bench, Table, say

WORKS = {work.name: work for work in (HERD, SPREAD, EACH_SECOND, NOW)}
WARM_UP = Work("warm_up", "to start the API's processes and to see how fast jobs are created", jobs=200, seconds=2)
#: Between two works, for what the first has left behind to be tidied.
PAUSE_SECONDS = 3.0

Found = dict[str, Any]


def measure(system: System, work: Work) -> Found:
    found = system.run_now(work) if work.name == NOW.name else system.run(work)
    drift = found["drift_ms"]
    say(
        f"  {work.name}: p50 {drift.get('p50')} p99 {drift.get('p99')} max {drift.get('max')} ms, drain"
        f" {found['drain_s']} s; {found['lost']} lost, {found['duplicates']} twice, {found['early']} early;"
        f" CPU {found['cpu_seconds']}"
    )
    time.sleep(PAUSE_SECONDS)
    return found


def tables_of(works: Sequence[Work], medians: dict[str, Found]) -> list[Table]:
    by_work = [(work, medians[work.name]) for work in works]
    drifts = Table(
        "End to end: drift in ms, local stack, ECS worker",
        ("work", "p50", "p99", "max", "last start, s", "lost", "twice", "early"),
        [
            (
                work.title,
                *(found["drift_ms"][name] for name in ("p50", "p99", "max")),
                found["drain_s"] if work.seconds == 0 else None,
                *(found[name] for name in ("lost", "duplicates", "early")),
            )
            for work, found in by_work
        ],
    )
    parts = Table(
        "End to end: where drift comes from, p50 / p99 in ms",
        ("work", *PARTS),
        [
            (
                work.title,
                *(" / ".join(f"{found['parts_ms'][part][name]:,.0f}" for name in ("p50", "p99")) for part in PARTS),
            )
            for work, found in by_work
        ],
        "dispatch: until SQS has it; queue: until a worker has it; claim: until it writes its row; start: the rest.",
    )
    costs = Table(
        "End to end: CPU seconds while the jobs fired, and how fast they were created before",
        ("work", "jobs created a second", "scheduler", "worker", "emulator", "emulator and API, to create them"),
        [
            (
                work.title,
                found.get("submit_per_second"),
                *(found["cpu_seconds"][name] for name in ("scheduler", "worker", "emulator")),
                found.get("cpu_seconds_to_submit", {}).get("emulator"),
            )
            for work, found in by_work
        ],
    )
    return [drifts, parts, costs]


def figures_of(medians: dict[str, Found]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, found in medians.items():
        figures |= {f"{name}_drift_{share}_ms": value for share, value in found["drift_ms"].items()}
        figures |= {f"{name}_{what}": found[what] for what in ("lost", "duplicates", "early")}
        if "submit_per_second" in found:
            figures[f"{name}_submit_per_s"] = found["submit_per_second"]
        figures |= {f"{name}_{who}_cpu_s": value for who, value in found["cpu_seconds"].items()}
    if "herd" in medians:
        figures["herd_last_start_ms"] = medians["herd"]["drain_s"] * 1000
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", choices=WORKS, default=[*WORKS])
    asked = parser.parse_args()
    works = [WORKS[name].scaled(asked.scale) for name in asked.only]
    bench = Bench("end_to_end")
    found: list[dict[str, Found]] = []
    for number in range(asked.runs):
        say(f"run {number + 1} of {asked.runs}")
        with running_system() as system:
            measure(system, WARM_UP)
            found.append({work.name: measure(system, work) for work in works})
    medians = {work.name: medians_of([each[work.name] for each in found]) for work in works}
    tables = tables_of(works, medians)
    if asked.scale == 1.0 and len(works) == len(WORKS):
        bench.report(runs=asked.runs, figures=figures_of(medians), tables=tables)
    else:
        for table in tables:
            say(*table.lines(), "")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
