"""What a run costs at AWS: requests and capacity units by kind of run, from the API's create to the stored end.

The real API, node and worker in this process, each step by hand, over the emulator. What a fleet costs whether or not
anything fires (beats, plans, sweeps, checkpoints, empty receives) is no run's. Printed, and written to
`.local/figures/requests.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.api.backend import Backend
from functions.api.resolving import build
from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, Targets, failed, succeeded
from infra.cost.measured import differences, read_measured
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.dynamodb import (
    DynamoAccessStore,
    DynamoEntryStore,
    DynamoJobStore,
    DynamoRunStore,
)
from shared.adapters.memory import ManualClock, MemoryFleetStore, MemoryTables, SeededRandomness
from shared.adapters.sqs import SqsDueQueue
from shared.domain.access import KEY_ID_BYTES, SECRET_BYTES, Scope, mint_key
from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant, to_rfc3339
from shared.domain.timing import Timing
from shared.schema import LANES
from tests.emulator import aws_environment, create_queue
from tests.metering import Cost, Meter

if TYPE_CHECKING:
    from shared.config import TableNames

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(120)]

FIGURES = Path(__file__).parents[2] / ".local" / "figures" / "requests.json"
#: Of each kind, at one instant: a full batch.
RUNS = 10
SHARDS = 1
TIMING = Timing()
#: What a run may cost.
RECURRING_WRITES, RECURRING_READS, RECURRING_SQS = 2, 1, 0.3
#: From create to finish: 5 of the transaction that creates (two rows at twice the price, and an index), 1 of deleting
#: the entry, 3 of the run and the end of its job; and a tenth of the lease for ten requests.
ONE_TIME_WRITES = 10


@dataclass
class Factory:
    """One process that is API, node and worker at once, over metered clients and a clock that stands still."""

    meter: Meter
    dynamodb: Any
    sqs: Any
    tables: TableNames
    queue_urls: dict[str, str]
    clock: ManualClock = field(default_factory=ManualClock)
    #: What a target answers to the first attempt.
    first: Outcome = field(default_factory=lambda: succeeded("done"))

    def __post_init__(self) -> None:
        dice = SeededRandomness()
        calls = Calls(self.clock, dice)
        jobs = DynamoJobStore(self.dynamodb, self.tables, calls)
        runs = DynamoRunStore(self.dynamodb, self.tables, calls)
        entries = DynamoEntryStore(self.dynamodb, self.tables, calls)
        # In memory: the table's own clock would not be that of this process.
        fleet = MemoryFleetStore(MemoryTables(self.clock))
        access = DynamoAccessStore(self.dynamodb, self.tables, calls)
        queues = {lane: SqsDueQueue(self.sqs, url, calls) for lane, url in self.queue_urls.items()}
        self.runs = runs
        self.queue = queues["default"]
        self.api = build(Backend(jobs, runs, entries, fleet, access, self.clock, dice, SHARDS, "test"))
        self.node = Node(
            Ports(fleet, entries, jobs, runs, queues, self.clock, dice), Settings("node-1", "test", SHARDS, TIMING)
        )
        self.worker = Executor(
            queue=self.queue,
            run_store=runs,
            job_store=jobs,
            entry_store=entries,
            targets=Targets({"handler": self}),
            clock=self.clock,
            randomness=dice,
            settings=WorkerSettings(),
            worker_id="worker-1",
        )
        random = dice.random_bytes(KEY_ID_BYTES + SECRET_BYTES)
        key, self.key = mint_key(
            owner_id="acme", scopes=frozenset(Scope), created_by="test", now=self.clock.now(), randomness=random
        )
        access.put_key(key)
        self.node.start()

    def call(self, call: Call) -> Outcome:
        """What a handler does."""
        return self.first if call.attempt == 1 else succeeded("done")

    def request(self, method: str, path: str, body: Any = None) -> Any:
        event: dict[str, Any] = {
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"authorization": f"Bearer {self.key}", "content-type": "application/json"},
            "requestContext": {
                "http": {"method": method, "path": path},
                "stage": "$default",
                "requestId": "r",
            },
            "isBase64Encoded": False,
            "body": None if body is None else json.dumps(body),
        }
        answer = self.api(event, None)
        assert answer["statusCode"] < 300, answer
        return json.loads(answer["body"])

    def create(self, kind: str, schedule: dict[str, Any], **members: Any) -> list[str]:
        ids = [f"{kind}-{number}" for number in range(RUNS)]
        for job_id in ids:
            target = {"type": "handler", "name": "echo"}
            self.request("POST", "/v1/jobs", {"job_id": job_id, "schedule": schedule, "target": target, **members})
        return ids

    def live(self) -> None:
        """What a node does whether or not anything fires."""
        with self.meter.counting("fleet"):
            self.node.beat_once()
            self.node.plan_once()
            self.node.load_once()
            self.node.sweep_once()

    def fire(self, what: str, at: int) -> None:
        """Let the node dispatch what is due at `at`, and workers run it, in full batches where there are some."""
        self.clock.advance(max(at - TIMING.lead_ms - self.clock.now(), 0))
        self.live()
        with self.meter.counting(f"{what}.scheduler"):
            self.node.tick_once()
            self.node.dispatch_once(hurry=True)
            self.node.tidy_once()
        self.work(what, at)
        with self.meter.counting("fleet"):
            self.node.checkpoint_once()

    def work(self, what: str, at: int) -> None:
        while True:
            with self.meter.counting("fleet") as idle:
                deliveries = self.queue.receive(limit=10, wait_seconds=0, visibility_seconds=30)
            if not deliveries:
                return
            # It was one of theirs.
            idle.requests["sqs.ReceiveMessage"] -= 1
            with self.meter.counting(f"{what}.worker") as cost:
                cost.requests["sqs.ReceiveMessage"] += 1
                self.worker.claim_once(deliveries)
                self.clock.advance(max(at - self.clock.now(), 0))
                for live in self.worker.start_due_once():
                    self.worker.execute(live)
                while self.worker.finish_once():
                    pass

    def forget(self, what: str) -> None:
        """Let the node hear of changes, and delete the tombstones that told of them."""
        self.live()
        self.clock.advance(TIMING.margin_ms + MINUTE)
        self.live()
        with self.meter.counting(what):
            self.node.tidy_once()

    def statuses(self, ids: list[str]) -> list[str]:
        return [str(run.status) for each in ids for run in self.runs.list_of_job(f"acme/{each}", limit=9).items]


@pytest.fixture
def factory(emulator_endpoint: str, tables: TableNames) -> Iterator[Factory]:
    meter = Meter()
    with aws_environment(emulator_endpoint):
        dynamodb, sqs = dynamodb_client(), sqs_client()
    urls = {lane: create_queue(sqs, f"{tables.jobs}-{lane}") for lane in LANES}
    meter.watch(dynamodb)
    meter.watch(sqs)
    yield Factory(meter, dynamodb, sqs, tables, urls)
    dynamodb.close()
    sqs.close()


def one_time(factory: Factory) -> None:
    at = factory.clock.now() + 10 * SECOND
    with factory.meter.counting("one_time.api"):
        ids = factory.create("one_time", {"at": to_rfc3339(Instant(at))})
    factory.fire("one_time", at)
    assert factory.statuses(ids) == ["succeeded"] * RUNS


def recurring(factory: Factory, kind: str, every: str, period_ms: int) -> None:
    """The second fire and later: the first also takes the mark off a new entry."""
    at = factory.clock.now() + 10 * SECOND
    ids = factory.create(kind, {"every": every, "anchor": to_rfc3339(Instant(at))})
    factory.fire("first", at)
    factory.fire(kind, at + period_ms)
    assert factory.statuses(ids) == ["succeeded"] * 2 * RUNS
    for job_id in ids:
        factory.request("DELETE", f"/v1/jobs/{job_id}")
    factory.forget("first")


def retried(factory: Factory, kind: str, wait_ms: int) -> None:
    """One failure, and then success."""
    at = factory.clock.now() + 10 * SECOND
    retry = {"max_attempts": 2, "base": "PT0S"}
    factory.first = replace(failed("http_5xx", "503"), retry_after_ms=wait_ms)
    with factory.meter.counting(f"{kind}.api"):
        ids = factory.create(kind, {"at": to_rfc3339(Instant(at))}, retry=retry)
    factory.fire(kind, at)
    if wait_ms:
        factory.fire(kind, at + wait_ms)
    assert factory.statuses(ids) == ["succeeded"] * RUNS


def cancelled(factory: Factory) -> None:
    """Before its fire."""
    at = factory.clock.now() + HOUR
    with factory.meter.counting("cancelled.api"):
        for job_id in factory.create("cancelled", {"at": to_rfc3339(Instant(at))}):
            assert factory.request("DELETE", f"/v1/jobs/{job_id}")["outcome"] == "cancelled_before_fire"
    factory.forget("cancelled.scheduler")


def per_run(factory: Factory, kind: str) -> dict[str, Any]:
    parts = {part: factory.meter.costs[f"{kind}.{part}"] for part in ("api", "scheduler", "worker")}

    def total(of: dict[str, Cost], name: str) -> float:
        return round(sum(float(getattr(cost, name)) for cost in of.values()) / RUNS, 2)

    requests = {
        service: round(sum(cost.requests_of(service) for cost in parts.values()) / RUNS, 2)
        for service in ("dynamodb", "sqs")
    }
    return {
        "writes": total(parts, "writes"),
        "reads": total(parts, "reads"),
        "dynamodb_requests": requests["dynamodb"],
        "sqs_requests": requests["sqs"],
        "by_part": {
            part: {"writes": round(cost.writes / RUNS, 2), "reads": round(cost.reads / RUNS, 2)}
            for part, cost in parts.items()
        },
        "operations": {
            name: round(count / RUNS, 2) for cost in parts.values() for name, count in sorted(cost.requests.items())
        },
    }


def show(figures: dict[str, dict[str, Any]]) -> None:
    """Seen with `pytest -s` or `-rP`."""
    columns = ("writes", "reads", "dynamodb_requests", "sqs_requests")
    print(f"\n  {'per run':<24}" + "".join(f"{name:>20}" for name in columns))  # noqa: T201
    for kind, found in figures.items():
        print(f"  {kind:<24}" + "".join(f"{found[name]:>20.2f}" for name in columns))  # noqa: T201


def test_each_kind_of_run_costs_no_more_than_its_budget(factory: Factory) -> None:
    factory.live()
    one_time(factory)
    recurring(factory, "recurring_within_6_h", "PT1M", MINUTE)
    recurring(factory, "recurring_beyond_6_h", "P1D", DAY)
    retried(factory, "retried_at_once", 0)
    retried(factory, "retried_after_61_s", 61 * SECOND)
    cancelled(factory)
    kinds = (
        "one_time",
        "recurring_within_6_h",
        "recurring_beyond_6_h",
        "retried_at_once",
        "retried_after_61_s",
        "cancelled",
    )

    figures = {kind: per_run(factory, kind) for kind in kinds}
    show(figures)
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps({"runs_of_each_kind": RUNS, "per_run": figures}, indent=2) + "\n")

    short = figures["recurring_within_6_h"]
    assert short["writes"] <= RECURRING_WRITES
    assert short["reads"] <= RECURRING_READS
    assert short["by_part"]["scheduler"] == {"writes": 0, "reads": 0}
    assert short["sqs_requests"] <= RECURRING_SQS
    assert figures["one_time"]["writes"] <= ONE_TIME_WRITES
    # What the bill is computed from; `python -P -m infra.cost.measured .local/figures/requests.json` takes this over.
    assert differences(read_measured(), {"per_run": figures}) == []
