"""A fleet on memory adapters: every node is driven by hand, and time moves only when told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from functions.scheduler.node import Node
from functions.scheduler.settings import Ports, Settings
from shared.adapters.memory.clock import ManualClock, SeededRandomness
from shared.adapters.memory.due_queue import MemoryDueQueue
from shared.adapters.memory.entry_store import MemoryEntryStore
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.memory.job_store import MemoryJobStore
from shared.adapters.memory.run_store import MemoryRunStore
from shared.adapters.memory.tables import MemoryTables
from shared.domain.entry import announce, entry_keys
from shared.domain.errors import StoreError
from shared.domain.instants import Instant
from shared.domain.job import Job, JobState, cancelled, next_generation
from shared.domain.message import Dispatch
from shared.domain.run import Run, RunStatus
from shared.domain.schedules import Misfire, parse_schedule
from shared.domain.timing import Timing
from shared.ports import JobWrite, Written
from shared.schema import LANES

SHARDS = 4
TIMING = Timing()
STEP_MS = 50


@dataclass
class World:
    clock: ManualClock = field(default_factory=ManualClock)
    tables: MemoryTables = field(default_factory=MemoryTables)
    nodes: list[Node] = field(default_factory=list)
    queues: dict[str, MemoryDueQueue] = field(default_factory=dict)
    sent: list[Dispatch] = field(default_factory=list)
    #: Whether workers run what is sent, and what of it they never see: purged, or expired.
    is_worked: bool = True
    purges: Callable[[Dispatch], bool] = lambda _dispatch: False
    #: Steps that failed, and with what they may: anything else is a bug.
    failures: int = 0
    bears: type[Exception] = StoreError

    def __post_init__(self) -> None:
        self.tables.clock = self.clock
        self.queues = {lane: MemoryDueQueue(self.clock) for lane in LANES}
        self.jobs = MemoryJobStore(self.tables)
        self.entries = MemoryEntryStore(self.tables)
        self.runs = MemoryRunStore(self.tables)
        self.fleet = MemoryFleetStore(self.tables)

    @property
    def now(self) -> Instant:
        return self.clock.now()

    def start_node(
        self, node_id: str, *, timing: Timing = TIMING, settings: dict[str, Any] | None = None, **ports: Any
    ) -> Node:
        """A node that has beaten once. `ports` replaces some of its ports, e.g. by failing ones."""
        standard = Ports(
            self.fleet, self.entries, self.jobs, self.runs, self.queues, self.clock, SeededRandomness(node_id)
        )
        given = {"node_id": node_id, "version": "test", "shard_count": SHARDS, "timing": timing, **(settings or {})}
        node = Node(replace(standard, **ports), Settings(**given))
        node.start()
        node.beat_once()
        self.nodes.append(node)
        return node

    # What the API would do.

    def create(self, job_id: str, misfire: Misfire | None = None, lane: str = "default", **schedule: Any) -> Job:
        now = self.now
        job = Job(
            owner_id="acme",
            job_id=job_id,
            schedule=parse_schedule(schedule, now=now),
            target={"type": "handler", "name": "echo"},
            generation=now,
            from_at=now,
            created_at=now,
            updated_at=now,
            created_by="test",
            updated_by="test",
            misfire=misfire or Misfire(),
            lane=lane,
        )
        job, entry = announce(job, shard_count=SHARDS)
        assert self.jobs.write(JobWrite(job, None, entry)) == Written()
        return job

    def change(self, job: Job, changed: Job) -> Job:
        """Write a new generation: its entry is announced now, the old one goes in the same transaction."""
        changed, entry = announce(changed, shard_count=SHARDS, at=self.now)
        write = JobWrite(changed, job, entry, entry_keys(job, shard_count=SHARDS))
        assert self.jobs.write(write) == Written()
        return changed

    def reschedule(self, job: Job, *, state: JobState = JobState.ACTIVE, **schedule: Any) -> Job:
        now = self.now
        changed = replace(
            job,
            schedule=parse_schedule(schedule, now=now) if schedule else job.schedule,
            state=state,
            generation=next_generation(job.generation, now),
            from_at=now,
            revision=job.revision + 1,
        )
        return self.change(job, changed)

    def cancel(self, job: Job) -> Job:
        return self.change(job, cancelled(job, now=self.now, by="test"))

    # Time.

    def step(self, node: Node) -> None:
        """One turn of all loops of a node, each at its interval."""
        steps: list[Callable[[], object]] = []
        moment = self.now
        if moment % 1_000 < STEP_MS:
            steps += [node.beat_once, node.plan_once, node.load_once, node.sweep_once]
        if moment % 250 < STEP_MS:
            steps.append(node.tidy_once)
        if moment % 2_000 < STEP_MS:
            steps.append(node.checkpoint_once)
        if moment % 5_000 < STEP_MS:
            steps.append(node.look_ahead_once)
        if moment % 10_000 < STEP_MS:
            steps.append(node.audit_once)
        for step in (*steps, node.tick_once, node.dispatch_once):
            try:
                step()
            except self.bears:
                # As in the runner: the others have their turn, and this one its next.
                self.failures += 1

    def run(self, duration_ms: int) -> list[Dispatch]:
        """Let all nodes live for a while; answers what reached the queues meanwhile, in order."""
        before = len(self.sent)
        end = self.now + duration_ms
        while self.now < end:
            for node in list(self.nodes):
                self.step(node)
            self.collect()
            self.clock.advance(STEP_MS)
        return self.sent[before:]

    def collect(self) -> None:
        for queue in self.queues.values():
            while deliveries := queue.receive(limit=10, wait_seconds=0, visibility_seconds=30):
                queue.delete(deliveries)
                arrived = [delivery.dispatch for delivery in deliveries if delivery.dispatch is not None]
                self.sent += arrived
                if self.is_worked:
                    self.runs.insert([self._run_of(each) for each in arrived if not self.purges(each)])

    def _run_of(self, dispatch: Dispatch) -> Run:
        started_at = max(self.now, dispatch.fire_at)
        return Run(
            job_key=dispatch.job_key,
            run_id=dispatch.run_id,
            kind=dispatch.kind,
            slot=dispatch.slot,
            fire_at=dispatch.fire_at,
            status=RunStatus.SUCCEEDED,
            generation=dispatch.generation,
            started_at=started_at,
            ended_at=started_at,
        )

    def kill(self, node: Node) -> None:
        self.nodes.remove(node)

    def entry_ids(self) -> set[str]:
        return {entry_id for shard in self.tables.entries.values() for entry_id in shard}


def slots_of(dispatches: list[Dispatch]) -> list[Instant]:
    return [each.slot for each in dispatches]
