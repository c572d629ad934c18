"""Webhooks whose receivers are slow or silent: what they cost the others, and one worker process.

    python -P -m tests.benchmarks.slow_receivers [--runs 1]

Beside: forty webhooks that never answer (time-out 20 s), and four hundred quick ones over the next 20 s; drift of the
quick ones. At once: five hundred receivers that take 2 s, all called at one instant; the last start, and the worker's
memory and CPU time. Jobs are created ahead and dispatched on time by a process of its own; the worker is the real one.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.system import SystemClock
from shared.config import INTERNAL_TARGETS_VARIABLE
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job, RetryPolicy
from shared.domain.run import Run
from tests.benchmarks.outcome import Bench, Cell, Table, medians
from tests.benchmarks.worker import LEAD_MS, create, job_of, percentile, read_runs, served
from tests.emulator import aws_environment, create_queue, create_tables, running_emulator

SILENT, QUICK, QUICK_OVER_MS, SILENT_TIMEOUT_MS = 40, 400, 20 * SECOND, 20 * SECOND
SLOW, SLOW_SECONDS = 500, 2.0
#: Beyond the last slot and its time-out.
_LATENESS_ALLOWED_SECONDS = 30
_CREATED_A_SECOND = 60
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """By the path: `/silent`, `/quick`, `/slow`."""
    head = await reader.readuntil(b"\r\n\r\n")
    path = head.split(b" ", 2)[1]
    if path == b"/silent":
        await reader.read()
    elif path == b"/slow":
        await asyncio.sleep(SLOW_SECONDS)
    writer.write(_OK)
    writer.close()


def _serve(told: Connection) -> None:
    async def run() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0, backlog=2 * SLOW)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def receivers() -> Iterator[int]:
    """Their port."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def webhook(number: int, slot: Instant, url: str, *, owner: str, timeout_ms: int = 30 * SECOND) -> Job:
    job = job_of(number, slot, {"type": "http", "url": url, "method": "POST", "headers": {}}, SystemClock().now())
    return replace(job, owner_id=owner, timeout_ms=timeout_ms, retry=RetryPolicy(max_attempts=1))


def first_slot(count: int) -> Instant:
    return Instant(SystemClock().now() + 10 * SECOND + count * SECOND // _CREATED_A_SECOND)


def beside(url: str) -> list[Job]:
    first = first_slot(SILENT + QUICK)
    silent = [
        webhook(number, first, f"{url}/silent", owner="silent", timeout_ms=SILENT_TIMEOUT_MS)
        for number in range(SILENT)
    ]
    slots = [Instant(first + SECOND + QUICK_OVER_MS * number // QUICK) for number in range(QUICK)]
    quick = [webhook(SILENT + number, slot, f"{url}/quick", owner="quick") for number, slot in enumerate(slots)]
    return silent + quick


def at_once(url: str) -> list[Job]:
    """Each receiver is called for an owner of its own."""
    first = first_slot(SLOW)
    return [webhook(number, first, f"{url}/slow", owner=f"owner-{number}") for number in range(SLOW)]


def drift_of(runs: Sequence[Run | None]) -> list[int]:
    return [run.drift["total"] for run in runs if run is not None and run.drift is not None]


def measure(endpoint: str, port: int) -> dict[str, float]:
    url = f"http://127.0.0.1:{port}"
    figures: dict[str, float] = {}
    for name, made in (("beside", beside), ("at_once", at_once)):
        tables = create_tables(dynamodb_client(), f"bench-{name}")
        queue_url = create_queue(sqs_client(), f"bench-{name}")
        jobs = made(url)
        dispatches = create(tables, jobs)
        assert SystemClock().now() < dispatches[0].fire_at - LEAD_MS, "creating took longer than planned"
        seconds = (max(each.fire_at for each in dispatches) - SystemClock().now()) / SECOND
        used = served(
            endpoint,
            tables,
            queue_url,
            dispatches,
            seconds=seconds + SILENT_TIMEOUT_MS / SECOND + _LATENESS_ALLOWED_SECONDS,
            variables={INTERNAL_TARGETS_VARIABLE: f"127.0.0.1:{port}"},
        )
        runs = read_runs(tables, dispatches)
        looked_at = drift_of(runs[SILENT:] if made is beside else runs)
        figures |= {
            f"{name}_lost": len(runs) - len(drift_of(runs)),
            f"{name}_drift_p50_ms": percentile(looked_at, 0.5),
            f"{name}_drift_p99_ms": percentile(looked_at, 0.99),
            f"{name}_drift_max_ms": max(looked_at),
            f"{name}_mb": used.peak_mb,
            f"{name}_cpu_ms_per_run": used.cpu_seconds * SECOND / len(runs),
        }
    return figures


def table(figures: dict[str, float]) -> Table:
    names = ("drift_p50_ms", "drift_p99_ms", "drift_max_ms", "lost", "mb", "cpu_ms_per_run")
    rows: list[list[Cell]] = [
        [what, *[figures[f"{name}_{figure}"] for figure in names]]
        for name, what in (
            ("beside", f"{QUICK} quick ones over {QUICK_OVER_MS // SECOND} s, beside {SILENT} that never answer"),
            ("at_once", f"{SLOW} receivers that take {SLOW_SECONDS:g} s, at one instant"),
        )
    ]
    columns = ("webhooks", "p50", "p99", "max", "lost", "MB", "CPU ms a run")
    return Table("Webhooks of one ECS worker: drift in ms, its memory and CPU time", columns, rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=1)
    asked = options.parse_args()
    bench = Bench("slow_receivers")
    found = []
    for _ in range(asked.runs):
        with (
            tempfile.TemporaryDirectory() as folder,
            running_emulator(Path(folder)) as endpoint,
            aws_environment(endpoint),
            receivers() as port,
        ):
            found.append(measure(endpoint, port))
    figures = medians(found)
    bench.report(runs=asked.runs, figures=figures, tables=[table(figures)])


if __name__ == "__main__":
    main()
