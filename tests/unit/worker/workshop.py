"""A worker's surroundings in memory: jobs are put, slots dispatched, and executors stepped by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from typing import Any

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, Targets, succeeded
from shared.adapters.memory import (
    ManualClock,
    MemoryDeadLetterQueue,
    MemoryDueQueue,
    MemoryEntryStore,
    MemoryJobStore,
    MemoryRunStore,
    MemoryTables,
    SeededRandomness,
)
from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job
from shared.domain.keys import run_id_of
from shared.domain.message import Dispatch
from shared.domain.run import Run
from shared.domain.schedules import At, Every
from shared.ports import Delivery

OWNER = "owner"


@dataclass
class RecordedTarget:
    """Answers `answer` to every call, and remembers it."""

    answer: Callable[[Call], Outcome] = lambda _: succeeded()
    calls: list[Call] = field(default_factory=list)

    def call(self, call: Call) -> Outcome:
        self.calls.append(call)
        return self.answer(call)


def execute(executor: Executor, live: LiveRun) -> None:
    """To its end, waiting for its answer here."""
    later = executor.execute(live)
    while later is not None:
        wait([later.answer])
        later = executor.go_on(live, later)


class Workshop:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.tables = MemoryTables()
        self.queue = MemoryDueQueue(self.clock)
        self.run_store = MemoryRunStore(self.tables)
        self.job_store = MemoryJobStore(self.tables)
        self.entry_store = MemoryEntryStore(self.tables)
        self.dead_letters = MemoryDeadLetterQueue()
        self.settings = WorkerSettings()
        self.target = RecordedTarget()
        self._workers = 0

    def executor(self, **changes: Any) -> Executor:
        """Another worker over the same tables and queue."""
        self._workers += 1
        given: dict[str, Any] = {
            "queue": self.queue,
            "run_store": self.run_store,
            "job_store": self.job_store,
            "targets": Targets({"recorded": self.target}),
            "clock": self.clock,
            "randomness": SeededRandomness(self._workers),
            "settings": self.settings,
            "worker_id": f"worker-{self._workers}",
            "entry_store": self.entry_store,
            "dead_letters": self.dead_letters,
        }
        return Executor(**given | changes)

    def put_job(self, job_id: str = "job", *, early_ms: int = 0, **changes: Any) -> Job:
        """An `every PT1M` job whose first slot is `early_ms` from now."""
        now = self.clock.now()
        job = Job(
            owner_id=OWNER,
            job_id=job_id,
            schedule=Every(interval_ms=60 * SECOND, anchor=Instant(now + early_ms)),
            target={"type": "recorded"},
            payload={"n": 1},
            generation=now,
            from_at=now,
            created_at=now,
            updated_at=now,
            created_by="key",
            updated_by="key",
            entry_at=now,
        )
        job = replace(job, **changes)
        self.tables.jobs[job.job_key] = job
        return job

    def put_one_time(self, job_id: str = "job", **changes: Any) -> Job:
        return self.put_job(job_id, schedule=At(instant=self.clock.now()), **changes)

    def dispatch(self, job: Job, slot: Instant | None = None, **changes: Any) -> Dispatch:
        """Send the slot, now unless said otherwise, to the lane."""
        slot = self.clock.now() if slot is None else slot
        dispatch = Dispatch(
            job_key=job.job_key,
            generation=job.generation,
            slot=slot,
            fire_at=slot,
            run_id=run_id_of(slot),
            shard=0,
            epoch=1,
            enqueued_at=self.clock.now(),
        )
        dispatch = replace(dispatch, **changes)
        self.queue.send([dispatch])
        return dispatch

    def receive(self) -> list[Delivery]:
        return self.queue.receive(limit=10, wait_seconds=0, visibility_seconds=self.settings.visibility_seconds)

    def claim(self, executor: Executor) -> list[LiveRun]:
        return executor.claim_once(self.receive())

    def begin(self, executor: Executor) -> tuple[LiveRun, Call]:
        """Claim and begin the one run that is due; its target is still to answer."""
        self.claim(executor)
        [live] = executor.start_due_once()
        call = executor.begin(live)
        assert call is not None
        return live, call

    def begin_all(self, executor: Executor) -> list[LiveRun]:
        """What was received, became due and was given a place; the targets are still to answer."""
        self.claim(executor)
        begun = [live for live in executor.start_due_once() if executor.begin(live) is not None]
        executor.finish_once()
        return begun

    def run_all(self, executor: Executor) -> None:
        """Everything that is visible and due: claim, start, end, finish."""
        self.claim(executor)
        self.start_all(executor)
        executor.finish_once()

    def start_all(self, executor: Executor) -> None:
        for live in executor.start_due_once():
            execute(executor, live)

    def run_of(self, dispatch: Dispatch) -> Run:
        run = self.run_store.get(dispatch.key)
        assert run is not None
        return run

    def deliver_again(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """The same messages once more, as a standard queue may."""
        return [replace(delivery, receipt_handle=f"{delivery.receipt_handle}-again") for delivery in deliveries]
