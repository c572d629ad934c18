"""Carillon on the local stack, given the same work as its peers, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from carillon.client import Client, NewJob, Schedule, at, every
from localstack import endpoints, processes
from localstack.client import client_of
from localstack.stack import Stack, borrowed
from localstack.start import Variant
from localstack.terminal import say
from localstack.workspace import Workspace, read_json
from shared.adapters.dynamodb import run_rows
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.run import Run
from tests.acceptance.workload import Workload
from tests.benchmarks.end_to_end.cpu import cpu_seconds
from tests.benchmarks.end_to_end.figures import Start, rounded, spread_of, summary
from tests.benchmarks.end_to_end.work import Work

ROOT = Path(__file__).parents[3]
ECHO = {"type": "handler", "name": "echo"}
PARTS = ("dispatch", "queue", "claim", "start")
#: Requests at once: the API is a process per request, and the emulator is one core.
CLIENTS = 2
JOBS_OF_A_REQUEST = 100
#: From the end of the creation to the first slot, should the creation take `SLACK` times as long as the last one.
AHEAD_SECONDS = 4.0
SLACK = 1.5
#: Before the first slot: from here on CPU is counted.
QUIET_SECONDS = 1.0
LATENESS_ALLOWED_SECONDS = 60.0
LOOK_SECONDS = 0.5


#: The lease of a deployment's workers; the local stack's is short, and bounds how far the lead grows before a herd.
AS_DEPLOYED = Variant(settings={"worker_lease_seconds": 30})


@contextmanager
def running_system() -> Iterator[System]:
    """A local stack of the benchmark's own, until the block ends."""
    workspace = Workspace(ROOT / ".local" / "bench")
    with borrowed(workspace, say=say, variant=AS_DEPLOYED) as stack, client_of(stack) as client:
        yield System(stack, client)


@dataclass
class System:
    stack: Stack
    client: Client
    #: Jobs a second that creation was last seen to make.
    rate: float = 100.0
    last_runs: Sequence[Run] = ()
    _queue_url: str = field(init=False)

    def __post_init__(self) -> None:
        self._dynamodb = endpoints.dynamodb(self.stack.endpoint)
        self._sqs = endpoints.sqs(self.stack.endpoint)
        self._fleet = Workload(self.stack)
        environ = Path(f"/proc/{self.stack.tasks()['worker-0'].pid}/environ").read_text(encoding="utf-8")
        variables = dict(each.partition("=")[::2] for each in environ.split("\0"))
        self._queue_url = variables["CARILLON_DEFAULT_QUEUE_URL"]

    # What a user would do ------------------------------------------------------------------------------------------

    def run(self, work: Work, *, during: Callable[[Instant], None] = lambda _first: None) -> dict[str, Any]:
        """Create the jobs ahead, let them fire, and tell what became of them. `during` is called before the first."""
        group = f"{work.name}-{uuid4().hex[:6]}"
        count = work.jobs
        first = ceil_to_second(now() + (count / self.rate * SLACK + AHEAD_SECONDS) * SECOND)
        created_at = time.monotonic()
        before_creation = self.cpu()
        self._create([job_of(work, number, first, group) for number in range(count)])
        submit_seconds = time.monotonic() - created_at
        self.rate = count / submit_seconds
        created = self.cpu()
        if now() > first:
            say(f"  creating took {submit_seconds:.1f} s, longer than planned: the first slots were late at once")
        time.sleep(max(0.0, (first - now()) / SECOND - QUIET_SECONDS))
        before = self.cpu()
        during(first)
        self._wait_for_end(first + work.seconds * SECOND)
        after = self.cpu()
        self.last_runs = runs = self.runs_of(group)
        return {
            **summary(starts_of(runs), expected=work.starts),
            "parts_ms": parts_of(runs),
            "submit_per_second": round(self.rate),
            "cpu_seconds": {name: round(after[name] - before[name], 2) for name in after},
            "cpu_seconds_to_submit": {name: round(created[name] - before_creation[name], 2) for name in after},
        }

    def run_now(self, work: Work) -> dict[str, Any]:
        """Jobs whose slot is the moment of their creation, one request each."""
        group = f"{work.name}-{uuid4().hex[:6]}"
        first = ceil_to_second(now() + SECOND)
        before = self.cpu()

        def create(number: int) -> None:
            time.sleep(max(0.0, (first + work.offsets_ms[number] - now()) / SECOND))
            schedule = at(to_rfc3339(now()))
            self.client.create_job(job_id=f"{group}-{number}", group=group, schedule=schedule, target=ECHO)

        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(create, range(work.jobs)))
        self._wait_for_end(now())
        runs, after = self.runs_of(group), self.cpu()
        return {
            **summary(starts_of(runs), expected=work.starts),
            "parts_ms": parts_of(runs),
            "cpu_seconds": {name: round(after[name] - before[name], 2) for name in after},
        }

    def _create(self, jobs: Sequence[NewJob]) -> None:
        def create(some: Sequence[NewJob]) -> list[Any]:
            return [item for item in self.client.create_jobs(some) if item["status"] != 201]

        lots = [jobs[start : start + JOBS_OF_A_REQUEST] for start in range(0, len(jobs), JOBS_OF_A_REQUEST)]
        with ThreadPoolExecutor(CLIENTS) as pool:
            refused = [item for items in pool.map(create, lots) for item in items]
        assert not refused, f"{len(refused)} jobs were not created, such as {refused[0]}"

    def _wait_for_end(self, last: int) -> None:
        """Until the lane is empty after the last slot."""
        time.sleep(max(0.0, (last - now()) / SECOND + 1))
        names: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        until, empty = time.monotonic() + LATENESS_ALLOWED_SECONDS, 0
        while time.monotonic() < until and empty < 3:
            found: Any = self._sqs.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=names)["Attributes"]
            empty = 0 if any(int(found[name]) for name in names) else empty + 1
            time.sleep(LOOK_SECONDS)

    # What became of it ---------------------------------------------------------------------------------------------

    def runs_of(self, group: str) -> list[Run]:
        """Read from the table, for the API would answer them job by job."""
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.outputs["JobRunsTable"],
            FilterExpression="contains(job_key, :group)",
            ExpressionAttributeValues={":group": {"S": f"/{group}-"}},
            ConsistentRead=True,
        )
        return [run_rows.read_run(row) for page in pages for row in page["Items"]]

    def busiest(self) -> str:
        """The scheduler task that owns most shards."""
        return next(iter(self._fleet.shards_by_task()))

    def wait_until_balanced(self) -> None:
        self.stack.wait_for_tasks("scheduler", 2)
        is_balanced = processes.wait_until(
            lambda: min(self._fleet.shards_by_task().values()) > 0, timeout_seconds=30, pause_seconds=LOOK_SECONDS
        )
        assert is_balanced, "a node has no shard"
        self._fleet.wait_until_owned()

    def cpu(self) -> dict[str, float]:
        """Seconds so far. `emulator` holds the API's processes too, which it starts."""
        tasks = self.stack.tasks()
        emulator = read_json(self.stack.workspace.state).get("emulator")
        return {
            "scheduler": cpu_seconds(task.pid for name, task in tasks.items() if name.startswith("scheduler-")),
            "worker": cpu_seconds(task.pid for name, task in tasks.items() if name.startswith("worker-")),
            "emulator": cpu_seconds([] if emulator is None else [int(emulator["pid"])]),
        }


def now() -> Instant:
    return Instant(time.time_ns() // 1_000_000)


def ceil_to_second(instant: float) -> Instant:
    return Instant(-int(-instant // SECOND) * SECOND)


def job_of(work: Work, number: int, first: Instant, group: str) -> NewJob:
    return {
        "job_id": f"{group}-{number}",
        "group": group,
        "schedule": schedule_of(work, number, first),
        "target": ECHO,
        "payload": {"n": number},
    }


def schedule_of(work: Work, number: int, first: Instant) -> Schedule:
    slot = Instant(first + work.offsets_ms[number])
    if not work.repeats:
        return at(to_rfc3339(slot))
    end = to_rfc3339(Instant(first + work.seconds * SECOND - 1))
    return every("PT1S", anchor=to_rfc3339(slot), start_at=to_rfc3339(slot), end_at=end)


def starts_of(runs: Sequence[Run]) -> list[Start]:
    """The claims of a run are counted by its token: one of 2 may have started twice."""
    return [Start(run.job_key, run.fire_at, run.started_at) for run in runs if run.started_at for _ in range(run.token)]


def parts_of(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """How much of each drift was spent where."""
    drifts = [run.drift for run in runs if run.drift is not None]
    return {part: rounded(spread_of([drift[part] for drift in drifts])) for part in PARTS}
