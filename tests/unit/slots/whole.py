"""API, scheduler nodes and workers over the same memory tables; time goes by hand, in steps of 50 ms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from functions.api.resolving import Handler, build
from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, Targets, succeeded
from shared.adapters.memory import ManualClock, MemoryDueQueue, SeededRandomness
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.job import Job
from shared.domain.timing import Timing
from shared.schema import LANES
from tests.unit.api.world import HTTP, SHARD_COUNT, Reply
from tests.unit.api.world import World as Api

STEP_MS = 50
RECEIVED, HIDDEN_SECONDS = 10, 30
PATH = "/v1/jobs/j"


class Skewed(ManualClock):
    """The clock of a host that is wrong."""

    def __init__(self, true: ManualClock, off_ms: int) -> None:
        super().__init__()
        self._true, self._off_ms = true, off_ms

    def now(self) -> Instant:
        return Instant(self._true.now() + self._off_ms)

    def monotonic(self) -> float:
        return self._true.monotonic()


@dataclass(frozen=True)
class Started:
    at: Instant
    slot: Instant
    payload: Any


@dataclass
class Whole:
    api: Api = field(default_factory=Api)
    started: list[Started] = field(default_factory=list)
    #: Whether workers take what is in the lanes.
    is_worked: bool = True
    #: Called while the target is.
    meanwhile: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        self.clock = self.api.clock
        self.lanes = {lane: MemoryDueQueue(self.clock) for lane in LANES}
        self.nodes: list[Node] = []
        self.workers = {lane: self._worker(lane) for lane in LANES}

    def node(self, name: str = "node-1") -> Node:
        api = self.api
        ports = Ports(api.fleet, api.entry_store, api.jobs, api.runs, self.lanes, self.clock, SeededRandomness(name))
        node = Node(ports, Settings(node_id=name, version="test", shard_count=SHARD_COUNT, timing=Timing()))
        node.start()
        node.beat_once()
        self.nodes.append(node)
        return node

    def _worker(self, lane: str) -> Executor:
        return Executor(
            queue=self.lanes[lane],
            run_store=self.api.runs,
            job_store=self.api.jobs,
            targets=Targets({"http": self}),
            clock=self.clock,
            randomness=SeededRandomness(lane),
            settings=WorkerSettings(),
            worker_id=f"worker-{lane}",
            lane=lane,
            entry_store=self.api.entry_store,
        )

    def call(self, call: Call) -> Outcome:
        """The target."""
        self.started.append(Started(self.clock.now(), call.slot, call.payload))
        self.meanwhile()
        return succeeded()

    def process(self, off_ms: int) -> Handler:
        """The API on a host whose clock is off."""
        return build(replace(self.api.backend(), clock=Skewed(self.clock, off_ms)))

    def send(self, method: str, path: str, body: object = None, *, off_ms: int = 0) -> Reply:
        handler = self.process(off_ms) if off_ms else None
        reply = self.api.send(method, path, body, handler=handler)
        assert reply.status < 300, reply.text
        return reply

    def create(self, **members: object) -> Job:
        self.send("POST", "/v1/jobs", {"job_id": "j", "target": HTTP, **members})
        return self.job

    @property
    def job(self) -> Job:
        return self.api.job("j")

    @property
    def slots(self) -> list[Instant]:
        return [each.slot for each in self.started]

    @property
    def rows(self) -> list[tuple[str, str, str | None]]:
        runs = sorted(self.api.tables.runs.values(), key=lambda run: run.run_id)
        return [(run.run_id, str(run.status), run.reason) for run in runs]

    def run_until(self, instant: int) -> None:
        while self.clock.now() < instant:
            self._step()

    def run(self, seconds: float) -> None:
        self.run_until(int(self.clock.now() + seconds * SECOND))

    def skip_to(self, instant: int) -> None:
        """Most of the time passes without a look."""
        while self.clock.now() < instant - SECOND:
            self.clock.advance(min(30 * SECOND, instant - SECOND - self.clock.now()))
            self.run(0.2)

    def _step(self) -> None:
        at = self.clock.now()
        for node in self.nodes:
            self._turn(node, at)
        if self.is_worked:
            for lane, worker in self.workers.items():
                self._work(self.lanes[lane], worker)
        self.clock.advance(STEP_MS)

    @staticmethod
    def _turn(node: Node, at: Instant) -> None:
        if at % SECOND < STEP_MS:
            node.beat_once()
            node.plan_once()
            node.load_once()
            node.sweep_once()
        node.tidy_once()
        if at % (2 * SECOND) < STEP_MS:
            node.checkpoint_once()
        if at % (10 * SECOND) < STEP_MS:
            node.audit_once()
        node.tick_once()
        node.dispatch_once()

    @staticmethod
    def _work(lane: MemoryDueQueue, worker: Executor) -> None:
        while deliveries := lane.receive(limit=RECEIVED, wait_seconds=0, visibility_seconds=HIDDEN_SECONDS):
            worker.claim_once(deliveries)
        for live in worker.start_due_once():
            worker.execute(live)
        while worker.finish_once():
            pass
        worker.read_once()
        worker.heartbeat_once()


def whole() -> Whole:
    """With one node."""
    rig = Whole()
    rig.node()
    return rig


def after(rig: Whole, ms: int) -> str:
    return to_rfc3339(Instant(rig.clock.now() + ms))
