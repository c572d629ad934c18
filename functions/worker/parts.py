"""What a worker is made of, apart from its host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from functions.worker.executor import Executor, new_worker_id
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Targets
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import Clock, DeadLetterQueue, DueQueue, EntryStore, JobStore, Randomness, ReceivedMessages, RunStore
from shared.ports.traces import NoTraces, Traces


@dataclass(frozen=True, slots=True)
class WorkerParts:
    #: By lane.
    queues: Mapping[str, DueQueue]
    #: The lane of each queue's name, the last part of its URL and of its ARN.
    lanes_by_queue_name: Mapping[str, str]
    #: By lane; a lane without any sends no copies.
    dead_letters: Mapping[str, DeadLetterQueue]
    run_store: RunStore
    entry_store: EntryStore
    job_store: JobStore
    targets: Targets
    clock: Clock
    randomness: Randomness
    settings: WorkerSettings
    metrics: MetricLog
    announcements: Announcements
    traces: Traces = field(default_factory=NoTraces)

    def lane_of(self, queue_arn: str) -> str:
        """Raises LookupError."""
        name = queue_arn.rpartition(":")[2]
        if name not in self.lanes_by_queue_name:
            raise LookupError(f"queue {name} is of no lane known here: {', '.join(self.lanes_by_queue_name)}")
        return self.lanes_by_queue_name[name]

    def executor(
        self, lane: str, *, queue: ReceivedMessages | None = None, ends_until: float | None = None
    ) -> Executor:
        """A new one under a worker_id of its own. `queue`: where the host keeps messages in a way of its own."""
        return Executor(
            queue=self.queues[lane] if queue is None else queue,
            run_store=self.run_store,
            job_store=self.job_store,
            targets=self.targets,
            clock=self.clock,
            randomness=self.randomness,
            settings=self.settings,
            worker_id=new_worker_id(self.randomness),
            lane=lane,
            entry_store=self.entry_store,
            dead_letters=self.dead_letters.get(lane),
            ends_until=ends_until,
            announcements=self.announcements,
        )
