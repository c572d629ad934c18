"""Fail-over of the whole system: its busiest node is killed, or asked to end, while jobs fire each second.

    python -P -m tests.benchmarks.fail_over [--runs 3] [--scale 0.1]

200 jobs every second for 20 s on the local stack. Five seconds on, its busiest node ends: by kill -9, then (in another
20 s) by SIGTERM. Recovered is when the last late slot was dispatched: every shard has jobs, so all are owned by then.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Sequence
from typing import Any

from localstack import processes
from shared.domain.instants import SECOND, Instant
from shared.domain.run import Run
from tests.benchmarks.end_to_end.figures import LATE_MS, medians_of, recovery
from tests.benchmarks.end_to_end.system import System, now, running_system, starts_of
from tests.benchmarks.end_to_end.work import EACH_SECOND, Work
from tests.benchmarks.outcome import Bench, Table, say

AFTER_SECONDS = 5.0
END_SECONDS = 30.0
#: After its time; a busy machine alone makes no slot that late.
LATE_DISPATCH_MS = 250
#: For a node that ended to be back, and to have its shards.
SETTLE_SECONDS = 8.0
WARM_UP = Work("warm_up", "to see how fast jobs are created", jobs=100, seconds=2)
SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM}


def measure(system: System, work: Work, number: signal.Signals) -> dict[str, Any]:
    system.wait_until_balanced()
    noted: dict[str, float] = {}

    def end_busiest(first: Instant) -> None:
        time.sleep(max(0.0, (first - now()) / SECOND + AFTER_SECONDS))
        task = system.stack.tasks()[system.busiest()]
        noted["at"] = now()
        os.kill(task.pid, number)
        processes.wait_until(lambda: not task.is_alive(), timeout_seconds=END_SECONDS)
        noted["ended"] = now()

    found = system.run(work, during=end_busiest)
    runs = system.last_runs
    dispatched_ms = last_late_dispatch(runs, since=noted["at"])
    time.sleep(SETTLE_SECONDS)
    return {
        "recovered_ms": max(dispatched_ms - noted["at"], 0),
        "ended_ms": noted["ended"] - noted["at"],
        **{name: value or 0 for name, value in recovery(starts_of(runs), killed_ms=noted["at"]).items()},
        **{name: found[name] for name in ("lost", "duplicates", "early")},
    }


def last_late_dispatch(runs: Sequence[Run], *, since: float) -> float:
    """When the last slot was dispatched that was late because of it; `since` when none was."""
    sent = [(run.enqueued_at, run.fire_at) for run in runs if run.enqueued_at is not None]
    return max((at for at, due in sent if at > since and at - due > LATE_DISPATCH_MS), default=since)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    work = EACH_SECOND.scaled(asked.scale)
    bench = Bench("fail_over")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SIGNALS}
    with running_system() as system:
        system.run(WARM_UP)
        for _ in range(asked.runs):
            for name, number in SIGNALS.items():
                found[name].append(measure(system, work, number))
                say(f"  {name}: {found[name][-1]}")
    medians = {name: medians_of(each) for name, each in found.items()}
    names = ("recovered_ms", "ended_ms", "first_late_s", "normal_s", "lost", "duplicates", "early")
    table = Table(
        f"Fail-over: {EACH_SECOND.title}, and the node that owns most shards ends",
        (
            "how",
            "late slots dispatched, ms",
            "node ended, ms",
            "first late start, s",
            "drift normal, s",
            "lost",
            "twice",
            "early",
        ),
        [(how, *(medians[how][name] for name in names)) for how in SIGNALS],
        f"Counted from the signal. A start more than {LATE_MS} ms after its slot is late; 0: none was.",
    )
    if asked.scale != 1.0:
        say(*table.lines())
        return 0
    killed, asked_to_end = medians["kill -9"], medians["SIGTERM"]
    figures = {
        "recovered_ms": killed["recovered_ms"],
        "first_late_ms": killed["first_late_s"] * SECOND,
        "normal_ms": killed["normal_s"] * SECOND,
        "lost": max(killed["lost"], asked_to_end["lost"]),
        "duplicates": max(killed["duplicates"], asked_to_end["duplicates"]),
        "drain_ms": max(asked_to_end["recovered_ms"], asked_to_end["ended_ms"]),
    }
    bench.report(runs=asked.runs, figures=figures, tables=[table])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
