"""What a cold start of the API costs, and each request after it, in milliseconds of CPU.

    python -P -m tests.benchmarks.api [--requests 300] [--imports 5]

A cold start is measured in fresh processes: the imports of the Lambda's entry point, then the stores and the bus with
their clients. Requests go through the real handler over tables in memory, so that they cost what the API itself does; a
call of a table adds about a millisecond of boto3 each. Medians.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from shared.config import EVENT_BUS_VARIABLE, table_variable
from shared.domain.instants import SECOND
from shared.schema import TABLES
from tests.benchmarks.outcome import ROOT, Bench, Cell, Table
from tests.unit.api.world import JOB, World

TIMED = """
import time
start = time.process_time()
import functions.api.app
imported = time.process_time()
from functions.api import wiring
from functions.api.resolving import build
build(wiring.backend())
print(imported - start, time.process_time() - imported)
"""


def cold_starts(count: int) -> dict[str, float]:
    names = {table_variable(table.name): table.name for table in TABLES}
    environment = {**os.environ, **names, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    environment |= {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PYTHONTZPATH": "",
        EVENT_BUS_VARIABLE: "bus",
    }
    # A deployed function has its bytecode with it: the first start here makes it, and does not count.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    found = []
    with tempfile.TemporaryDirectory() as bytecode:
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        for _ in range(1 + count):
            command = [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{TIMED}"]
            answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, cwd=ROOT)
            found.append([float(text) * 1000 for text in answer.stdout.split()])
    del found[0]
    return {
        "import": median(each[0] for each in found),
        "stores and routes": median(each[1] for each in found),
        "cold start": median(sum(each) for each in found),
    }


def request_costs(count: int) -> dict[str, float]:
    world = World()
    logging.disable(logging.CRITICAL)
    world.create(schedule={"every": "PT1M"})
    for number in range(50):
        world.create(job_id=f"other-{number}")
    path = "/v1/jobs/nightly-report"
    items = [{name: value for name, value in JOB.items() if name != "job_id"}] * 20
    work: dict[str, tuple[str, str, Any]] = {
        "create": ("POST", "/v1/jobs", {name: value for name, value in JOB.items() if name != "job_id"}),
        "create, each of 20 in a batch": ("POST", "/v1/jobs/batch", {"items": items}),
        "put, nothing to do": ("PUT", path, {**JOB, "schedule": {"every": "PT1M"}}),
        "patch": ("PATCH", path, None),
        "get": ("GET", path, None),
        "list of 50": ("GET", "/v1/jobs", None),
        "run now": ("POST", f"{path}/runs", {}),
        "explain": ("GET", f"{path}/explain", None),
        "preview": ("POST", "/v1/schedules/preview", {"schedule": JOB["schedule"]}),
        "health": ("GET", "/v1/health", None),
    }
    costs = {}
    for name, (method, where, body) in work.items():
        each = 20 if "batch" in name else 1
        runs = max(10, count // 10) if each > 1 else count
        costs[name] = median(cost_of(send(world, method, where, body)) for _ in range(runs)) / each
    return costs


def send(world: World, method: str, path: str, body: Any) -> Callable[[], Any]:
    # Requests of one millisecond would share ids and windows of their rate.
    world.clock.advance(100)
    if method == "PATCH":
        body = {"payload": world.clock.now()}
    event = world.event(method, path, body)
    return lambda: world.handler(event, None)


def cost_of(work: Callable[[], Any]) -> float:
    start = time.process_time()
    answer = work()
    spent = time.process_time() - start
    assert answer["statusCode"] < 300, answer
    return spent * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--imports", type=int, default=5)
    options = parser.parse_args()
    bench = Bench("api")
    starts, costs = cold_starts(options.imports), request_costs(options.requests)
    cold: list[list[Cell]] = [[name, spent] for name, spent in starts.items()]
    requests: list[list[Cell]] = [[name, spent, SECOND / spent] for name, spent in costs.items()]
    bench.report(
        runs=options.imports,
        figures={
            "import_ms": starts["import"],
            "cold_start_ms": starts["cold start"],
            "create_ms": costs["create"],
            "batch_create_ms": costs["create, each of 20 in a batch"],
        },
        tables=[
            Table("A cold start of the API's function", ("what", "CPU ms"), cold, in_readme=False),
            Table("A request of the API, without its tables", ("request", "CPU ms", "a second and core"), requests),
        ],
    )


if __name__ == "__main__":
    main()
