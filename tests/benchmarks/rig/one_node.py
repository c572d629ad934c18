"""One node process over generated jobs and a queue: what it dispatches, how late, and what that takes.

Started by the benches with its orders as JSON; prints what it found as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from functions.scheduler.runner import Runner
from functions.scheduler.settings import SENDERS, Ports, Settings
from functions.scheduler.wiring import over_threads
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.aws.direct import directly
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.adapters.memory.tables import MemoryTables
from shared.adapters.sqs.due_queue import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.fleet import Lease
from shared.domain.message import Dispatch
from shared.domain.timing import Timing
from shared.ports.due_queue import DueQueue, SendReport
from tests.benchmarks.outcome import ROOT
from tests.benchmarks.rig.stored_jobs import StoredJobs
from tests.benchmarks.rig.watched_node import WatchedNode

LEAD_MS = Timing().lead_ms


@dataclass(frozen=True, slots=True)
class Orders:
    endpoint: str
    jobs: int
    period_ms: int | None = None
    schedules: int = 200
    shards: int = 16
    #: Of CPU time, or elapsed time when there is no more to do.
    seconds: float = 4.0
    warm_seconds: float = 2.0
    core: int | None = None
    most_residents: int = 1_000_000
    senders: int = SENDERS
    #: Jobs whose first fire is in each second of before and of now: so many are met again by each sweep of minutes.
    first_fires_per_s: int = 0
    load_ms: int = Timing().load_ms


@dataclass(slots=True)
class Watched:
    """The queue, and how long after its time each dispatch was handed over."""

    queue: SqsDueQueue
    late_ms: list[int] = field(default_factory=list)

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        self.late_ms += [each.enqueued_at - each.fire_at + LEAD_MS for each in dispatches]
        return self.queue.send(dispatches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.queue, name)


def node_over(orders: Orders) -> tuple[WatchedNode, Watched]:
    environment = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_SESSION_TOKEN": "x" * 600}
    os.environ |= {**environment, "AWS_DEFAULT_REGION": "us-east-1"}
    clock, tables = SystemClock(), MemoryTables()
    # As after a while of running: nothing of before is due.
    tables.leases.update({shard: Lease(shard, watermark=clock.now()) for shard in range(orders.shards)})
    client = directly(sqs_client(endpoint_url=orders.endpoint), "send_message_batch")
    watched = Watched(SqsDueQueue(client, f"{orders.endpoint}/0/due", Calls(clock, SystemRandomness())))
    queues: dict[str, DueQueue] = {"default": watched, "catchup": watched}
    ports = Ports(
        fleet=MemoryFleetStore(tables),
        entries=StoredJobs(
            orders.jobs,
            orders.shards,
            clock.now(),
            orders.period_ms,
            orders.schedules,
            first_fires_per_s=orders.first_fires_per_s,
        ),
        jobs=MemoryJobStore(tables),
        runs=MemoryRunStore(tables),
        queues=queues,
        clock=clock,
        randomness=SystemRandomness(),
    )
    timing = Timing(load_ms=orders.load_ms)
    settings = Settings("node-bench", "bench", orders.shards, timing, most_residents=orders.most_residents)
    return WatchedNode(ports, settings, over_threads(orders.senders, "sender")), watched


def run(orders: Orders) -> dict[str, float]:
    if orders.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {orders.core})
    node, watched = node_over(orders)
    # A real node has this client too.
    _client = dynamodb_client(endpoint_url=orders.endpoint)
    ready_mb = resident_mb()
    began, cpu = time.monotonic(), time.process_time()
    Thread(target=Runner(node, node.ports.clock).run, daemon=True).start()
    while sum(shard.coverage.loaded_at is not None for shard in node.shards.values()) < orders.shards:
        time.sleep(0.01)
    load_seconds, load_cpu = time.monotonic() - began, time.process_time() - cpu
    loading = node.loop_times()
    time.sleep(orders.warm_seconds)
    watched.late_ms.clear()
    node.forget_turns()
    accepted, began, cpu = node.counts.accepted, time.monotonic(), time.process_time()
    time.sleep(orders.seconds)
    accepted, elapsed, cpu = node.counts.accepted - accepted, time.monotonic() - began, time.process_time() - cpu
    late, loops = sorted(watched.late_ms) or [0], node.loop_times()
    return {
        "slots_per_s": accepted / elapsed,
        "cpu_us_per_slot": cpu / max(accepted, 1) * 1e6,
        "cpu_share": cpu / elapsed,
        "late_p50_ms": late[len(late) // 2],
        "late_p99_ms": late[len(late) * 99 // 100],
        "late_max_ms": late[-1],
        **{f"loading_{name}": ms for name, ms in loading.items()},
        **loops,
        "load_s": load_seconds,
        "load_cpu_s": load_cpu,
        "residents": sum(shard.resident_count for shard in node.shards.values()),
        "ready_mb": ready_mb,
        "mb": resident_mb(),
        "full_gc_ms": full_gc_ms(),
    }


def full_gc_ms() -> float:
    began = time.thread_time()
    gc.collect()
    return (time.thread_time() - began) * 1e3


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def start(orders: Orders) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "tests.benchmarks.rig.one_node", json.dumps(asdict(orders))]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def ended(node: subprocess.Popen[str]) -> dict[str, float]:
    output, _ = node.communicate()
    if node.returncode:
        raise SystemExit(f"a node ended with {node.returncode}")
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Orders(**json.loads(sys.argv[1])))) + "\n")
    sys.stdout.flush()
    # The runner's threads need not be waited for.
    os._exit(0)
