"""Drift of the worker alone: one-time runs dispatched by the lead, over the emulator, as on this machine's local stack.

    python -P -m tests.benchmarks.worker [--jobs 2000] [--seconds 20] [--herd] [--runs 1]

Jobs are created ahead. Each slot is sent `lead` before its time by a process of its own, as a scheduler would; the
worker is the real process (`python -P -m functions.worker`). With `--herd` all slots are at one instant. Drift is
told by its parts, with how many runs were early or lost and the worker's CPU time; what was still in the queue a minute
after the last slot is late, and not lost. With `--herd` nothing is kept.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.dynamodb import DynamoJobStore, DynamoRunStore
from shared.adapters.sqs import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.config import TableNames, table_variable
from shared.domain.entry import entry_of
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job
from shared.domain.keys import RunKey, run_id_of
from shared.domain.message import Dispatch
from shared.domain.run import Run
from shared.domain.schedules import At
from shared.domain.timing import Timing
from shared.ports import JobWrite
from shared.schema import TABLES
from tests.benchmarks.outcome import Bench, Cell, Table, medians, say
from tests.emulator import aws_environment, create_queue, create_tables, running_emulator

LEAD_MS = Timing().lead_ms
PARTS = ("total", "dispatch", "queue", "claim", "start")
LATENESS_ALLOWED_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Used:
    """By the worker's process, and how many messages it left."""

    left: int
    cpu_seconds: float
    peak_mb: float


def job_of(number: int, slot: Instant, target: dict[str, Any], now: Instant) -> Job:
    return Job(
        owner_id=f"owner-{number % 5}",
        job_id=f"job-{number}",
        schedule=At(instant=slot),
        target=target,
        payload={"n": number},
        generation=now,
        from_at=now,
        created_at=now,
        updated_at=now,
        created_by="bench",
        updated_by="bench",
    )


def create(tables: TableNames, jobs: list[Job]) -> list[Dispatch]:
    """Each a job of one slot."""
    store = DynamoJobStore(dynamodb_client(), tables, Calls(SystemClock(), SystemRandomness()))
    dispatches = []
    for job in jobs:
        assert isinstance(job.schedule, At)
        slot = job.schedule.instant
        store.write(JobWrite(job=job, previous=None, put_entry=entry_of(job, shard_count=4)))
        dispatches.append(
            Dispatch(
                job_key=job.job_key,
                generation=job.generation,
                slot=slot,
                fire_at=slot,
                run_id=run_id_of(slot),
                shard=0,
                epoch=1,
                enqueued_at=slot,
            )
        )
    return dispatches


def dispatch_all(queue_url: str, dispatches: list[Dispatch]) -> None:
    """As the scheduler does: by the lead ahead, in batches of up to ten."""
    from dataclasses import replace  # noqa: PLC0415 (runs in a process of its own)

    clock = SystemClock()
    queue = SqsDueQueue(sqs_client(), queue_url, Calls(SystemClock(), SystemRandomness()))
    left = sorted(dispatches, key=lambda dispatch: dispatch.fire_at)
    while left:
        due = [dispatch for dispatch in left if dispatch.fire_at - LEAD_MS <= clock.now()][:100]
        if due:
            now = clock.now()
            report = queue.send([replace(dispatch, enqueued_at=now) for dispatch in due])
            left = [dispatch for index, dispatch in enumerate(due) if index not in report.accepted] + left[len(due) :]
        clock.sleep(0.01)


def read_runs(tables: TableNames, dispatches: list[Dispatch]) -> list[Run | None]:
    store = DynamoRunStore(dynamodb_client(), tables, Calls(SystemClock(), SystemRandomness()))
    return [store.get(RunKey(dispatch.job_key, dispatch.run_id)) for dispatch in dispatches]


def wait_for_end(sqs: Any, queue_url: str, until: float) -> int:
    """How many messages are still there at the end of the wait."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    while True:
        found = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
        left = sum(int(found[name]) for name in names)
        if not left or time.monotonic() >= until:
            return left
        time.sleep(1)


def percentile(values: list[int], share: float) -> int:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def report_on(runs: list[Run | None], used: Used) -> dict[str, float]:
    ended = [run for run in runs if run is not None and run.status.is_final and run.drift is not None]
    drifts = [run.drift for run in ended if run.drift is not None]
    figures: dict[str, float] = {
        "lost": max(len(runs) - len(ended) - used.left, 0),
        "late": used.left,
        "early": sum((run.started_at or 0) < run.fire_at for run in ended),
        "attempts_over_1": sum(run.attempt > 1 for run in ended),
        "cpu_ms_per_run": used.cpu_seconds * SECOND / len(runs),
    }
    for part in PARTS:
        values = [drift[part] for drift in drifts]
        figures[f"{part}_p50_ms"] = statistics.median(values)
        figures[f"{part}_p99_ms"] = percentile(values, 0.99)
        figures[f"{part}_max_ms"] = max(values)
    return figures


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--jobs", type=int, default=2_000)
    options.add_argument("--seconds", type=float, default=20.0)
    options.add_argument("--herd", action="store_true", help="all slots at one instant")
    options.add_argument("--handler", default="echo")
    options.add_argument("--runs", type=int, default=1)
    asked = options.parse_args()
    bench = Bench("worker")
    found = []
    for _ in range(asked.runs):
        with (
            tempfile.TemporaryDirectory() as folder,
            running_emulator(Path(folder)) as endpoint,
            aws_environment(endpoint),
        ):
            found.append(measure(asked, endpoint))
    figures = medians(found)
    table = drift_table(figures, asked)
    if asked.herd:
        say(*table.lines())
        return
    bench.report(runs=asked.runs, figures=figures, tables=[table])


def drift_table(figures: dict[str, float], asked: argparse.Namespace) -> Table:
    rows: list[list[Cell]] = [
        [part, *[figures[f"{part}_{name}_ms"] for name in ("p50", "p99", "max")]] for part in PARTS
    ]
    note = (
        f"{figures['lost']:.0f} lost, {figures['late']:.0f} not done in time, {figures['early']:.0f} early; "
        f"{figures['cpu_ms_per_run']:.1f} ms of CPU a run of a handler that does nothing."
    )
    when = "at one instant" if asked.herd else f"over {asked.seconds:g} s"
    title = f"Drift of one ECS worker in ms, {asked.jobs:,} runs {when}, dispatched on time"
    return Table(title, ("part", "p50", "p99", "max"), rows, note)


def measure(asked: argparse.Namespace, endpoint: str) -> dict[str, float]:
    tables = create_tables(dynamodb_client(), "bench")
    sqs = sqs_client()
    queue_url = create_queue(sqs, "bench-default")
    seconds_to_create = 10 + asked.jobs * 0.01
    first = SystemClock().now() + int(seconds_to_create * SECOND)
    spread_ms = 0 if asked.herd else asked.seconds * SECOND
    slots = [Instant(first + int(spread_ms * number / asked.jobs)) for number in range(asked.jobs)]
    target = {"type": "handler", "name": asked.handler}
    now = SystemClock().now()
    dispatches = create(tables, [job_of(number, slot, target, now) for number, slot in enumerate(slots)])
    assert SystemClock().now() < first - LEAD_MS, "creating took longer than planned"
    seconds = seconds_to_create + asked.seconds + LATENESS_ALLOWED_SECONDS
    used = served(endpoint, tables, queue_url, dispatches, seconds=seconds)
    return report_on(read_runs(tables, dispatches), used)


def served(
    endpoint: str,
    tables: TableNames,
    queue_url: str,
    dispatches: list[Dispatch],
    *,
    seconds: float,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Used:
    """By a worker of its own, until its queue is empty, or for so long."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": endpoint,
        **{table_variable(table.name): getattr(tables, table.name) for table in TABLES},
        "CARILLON_DEFAULT_QUEUE_URL": queue_url,
        **variables,
    }
    log = Path(tempfile.gettempdir()) / "bench_worker.log"
    with log.open("w") as output:
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", "functions.worker"], env=environment, stdout=output, stderr=output
        )
        sender = get_context("spawn").Process(target=dispatch_all, args=(queue_url, dispatches), daemon=True)
        sender.start()
        until = time.monotonic() + seconds
        sender.join(until - time.monotonic())
        left = wait_for_end(sqs_client(), queue_url, until)
        worker.terminate()
        _, status, usage = os.wait4(worker.pid, 0)
    if status:
        print(log.read_text()[-2_000:], file=sys.stderr)  # noqa: T201
    return Used(left, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
