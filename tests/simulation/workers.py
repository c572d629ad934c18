"""Worker processes: the real hosts of `functions.worker`, their threads tasks of a simulated host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from functions.worker.executor import Executor
from functions.worker.lambda_host import LambdaHost
from functions.worker.live_run import LiveRun
from functions.worker.parts import WorkerParts
from functions.worker.process_host import HostSettings, LaneHost, ProcessHost
from functions.worker.protection import Protection
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Targets
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import Delivery, ReceivedMessages
from tests.simulation.hosts import Host, HostClock
from tests.simulation.lanes import SimulatedLane
from tests.simulation.promises import check_begin, check_receivers
from tests.simulation.remotes import Remote, RemoteEntries, RemoteJobs, RemoteLane, RemoteLetters
from tests.simulation.targets import SimulatedReceivers, SimulatedTarget

if TYPE_CHECKING:
    from tests.simulation.world import World

HOST = HostSettings(receivers=2, finishers=1, look_seconds=2.0)
#: Between two looks of an idle poller.
_POLL_SECONDS = 10


class NoMetrics:
    def put(self, values: object, *, at: object) -> None:
        """Nobody reads them."""


class NoTask:
    """Of a host that nobody may stop."""

    def protect(self, *, minutes: int) -> None:
        """Nothing."""

    def release(self) -> None:
        """Nothing."""

    def is_superseded(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RecordedParts(WorkerParts):
    """The ledger hears which definition a run of its executors starts with, and in which places."""

    world: Any = None
    host: Any = None

    def executor(
        self, lane: str, *, queue: ReceivedMessages | None = None, ends_until: float | None = None
    ) -> Executor:
        executor = WorkerParts.executor(self, lane, queue=queue, ends_until=ends_until)
        begin = executor.begin

        def recorded(live: LiveRun) -> Any:
            call = begin(live)
            if call is not None:
                self.world.ledger.executions.begins(self.host, live)
                if self.world.profile.is_strict:
                    check_begin(self.world.ledger, live)
                    check_receivers(self.world.ledger, _going_on(executor), self.settings.webhooks)
            return call

        executor.begin = recorded  # type: ignore[method-assign]
        return executor


def _going_on(executor: Executor) -> list[LiveRun]:
    return [live for live in executor.runs._live if live.started_at is not None and live.finish is None]


def parts_of(world: World, host: Host, settings: WorkerSettings) -> RecordedParts:
    clock = HostClock(host)
    letters = RemoteLetters(world.network, host, "letters", world.letters)
    return RecordedParts(
        queues={name: RemoteLane(world.network, host, lane) for name, lane in world.lanes.items()},
        lanes_by_queue_name={name: name for name in world.lanes},
        dead_letters=dict.fromkeys(world.lanes, letters),
        run_store=Remote(world.network, host, "runs", world.runs),
        entry_store=RemoteEntries(world.network, host, "entries", world.entries),
        job_store=RemoteJobs(world.network, host, "jobs", world.jobs),
        targets=Targets(
            {"handler": SimulatedTarget(world, host, clock), "http": SimulatedReceivers(world, host, clock)}
        ),
        clock=clock,
        randomness=SeededRandomness(host.name),
        settings=settings,
        metrics=cast("MetricLog", NoMetrics()),
        announcements=Announcements(None),
        world=world,
        host=host,
    )


class WorkerProcess:
    """One process, with a host for each lane."""

    def __init__(self, world: World, host: Host) -> None:
        self.host = host
        self._world = world
        parts = parts_of(world, host, world.worker_settings)
        self.executors = {name: parts.executor(name) for name in world.lanes}
        lanes = {
            name: LaneHost(name, parts.queues[name], executor, clock=parts.clock, worker=parts.settings, host=HOST)
            for name, executor in self.executors.items()
        }
        self._process = ProcessHost(
            lanes,
            clock=parts.clock,
            host=HOST,
            metrics=parts.metrics,
            protection=Protection(NoTask(), parts.clock, stop_ms=HOST.stop_ms),
            announcements=parts.announcements,
        )
        world.engine.spawn(host, "main", self._main)

    @property
    def is_idle(self) -> bool:
        return not any(len(executor.runs) or executor.watched for executor in self.executors.values())

    def stop(self) -> None:
        """SIGTERM."""
        self._process.stop()

    def _main(self) -> None:
        status = self._process.run()
        self._world.note(self.host.name, "ends", (status,), None)
        self.host.kill()
        if status:
            # Stuck: the service starts another.
            self._world.engine.after(10 * SECOND, self._world.start_worker)


class EventSource:
    """The event source mappings of the lanes: each invocation is a host of its own, for as long as one may take."""

    def __init__(self, world: World, host: Host) -> None:
        self.host = host
        self._world = world
        self._busy = 0
        for name, lane in world.lanes.items():
            world.engine.spawn(host, f"{name}-poll", lambda name=name, lane=lane: self._poll(name, lane))  # type: ignore[misc]

    @property
    def is_idle(self) -> bool:
        return self._busy == 0

    def _poll(self, name: str, lane: SimulatedLane) -> None:
        """AWS receives for itself: no answer is lost, or its messages would be hidden for an hour and a half."""
        queue, engine = RemoteLane(self._world.network, self.host, lane), self._world.engine
        hidden_seconds = self._world.profile.mapped_visibility_seconds
        while True:
            received = lane.receive(limit=10, wait_seconds=0, visibility_seconds=hidden_seconds)
            if not received:
                lane.wait(engine, engine.now + _POLL_SECONDS * SECOND)
                continue
            self._invoke(name, queue, received)

    def _invoke(self, name: str, queue: RemoteLane, received: Sequence[Delivery]) -> None:
        world = self._world
        host = world.start_function()
        ends_at = world.engine.now + world.profile.function_ms
        self._busy += 1

        def ends() -> None:
            self._busy -= 1

        host.on_death = ends
        # Whatever it is doing.
        world.engine.at(ends_at, host.kill)

        def run() -> None:
            parts = parts_of(world, host, world.worker_settings)
            event = {"Records": [_record_of(each, name) for each in received]}
            answered = LambdaHost(parts).handle(event, _Context(world, ends_at))
            kept = {each["itemIdentifier"] for each in answered["batchItemFailures"]}
            done = [each for each in received if each.message_id not in kept]
            world.engine.spawn(self.host, f"{name}-delete", lambda: self._delete(queue, done))
            host.kill()

        world.engine.spawn(host, "handle", run)

    def _delete(self, queue: RemoteLane, done: Sequence[Delivery]) -> None:
        try:
            queue.delete(done)
        except StoreError:
            self._world.note(self.host.name, "not deleted", (done,), None)


class _Context:
    def __init__(self, world: World, ends_at: int) -> None:
        self._world = world
        self._ends_at = ends_at

    def get_remaining_time_in_millis(self) -> int:
        return max(self._ends_at - self._world.engine.now, 0)


def _record_of(delivery: Delivery, lane: str) -> Mapping[str, Any]:
    return {
        "messageId": delivery.message_id,
        "receiptHandle": delivery.receipt_handle,
        "body": delivery.body,
        "attributes": {"ApproximateReceiveCount": str(delivery.receive_count)},
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:000000000000:{lane}",
    }
