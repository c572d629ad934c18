"""Scheduler processes: the steps of a real Node, called by three tasks as `functions.scheduler.runner` does."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.scheduler.node import Node
from functions.scheduler.outbox import BATCH
from functions.scheduler.runner import HOUSEKEEPING_SECONDS, TIDY_MS
from functions.scheduler.settings import Ports, R, Settings, T, in_order
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from tests.simulation.engine import Task
from tests.simulation.hosts import Host, HostClock
from tests.simulation.network import Remote, RemoteEntries, RemoteLane

if TYPE_CHECKING:
    from tests.simulation.world import World

SHARDS = 4
#: The hot task looks at least this often, as the real one does every 10 ms.
IDLE_MS = 1_000
HOT_MS = 10
_LOOK_MS = int(HOUSEKEEPING_SECONDS * SECOND)


@dataclass(slots=True)
class _Step:
    name: str
    run: Callable[[], object]
    every_ms: int
    due_at: int = 0


class NodeProcess:
    def __init__(self, world: World, host: Host) -> None:
        self.host = host
        self._world = world
        self._engine = world.engine
        clock = HostClock(host)
        ports = Ports(
            fleet=Remote(world.network, host, "fleet", world.fleet),  # type: ignore[arg-type]
            entries=RemoteEntries(world.network, host, "entries", world.entries),
            jobs=Remote(world.network, host, "jobs", world.jobs),  # type: ignore[arg-type]
            runs=Remote(world.network, host, "runs", world.runs),  # type: ignore[arg-type]
            queues={name: RemoteLane(world.network, host, lane) for name, lane in world.lanes.items()},
            clock=clock,
            randomness=SeededRandomness(host.name),
        )
        settings = Settings(node_id=host.name, version="simulated", shard_count=SHARDS, timing=world.timing)
        self.node = Node(ports, settings, self._spread)
        self._is_stopping = False
        self._loops: list[Task] = []
        self._hot: Task | None = None
        self._engine.spawn(host, "main", self._main)

    @property
    def owned(self) -> list[int]:
        """Shards that it holds and has loaded."""
        return [number for number, shard in self.node.shards.items() if shard.loaded_at is not None]

    def stop(self) -> None:
        """SIGTERM."""
        self._is_stopping = True
        for task in self._loops:
            self._engine.wake(task)
        self._engine.spawn(self.host, "drain", self._drain)

    # Tasks -----------------------------------------------------------------------------------------------------------

    def _main(self) -> None:
        while not self._try("start", self.node.start):
            self._engine.sleep(200)
        timing = self.node.settings.timing
        beat = [_Step("beat", self.node.beat_once, timing.beat_ms)]
        housekeeping = [
            _Step("plan", self.node.plan_once, timing.plan_ms),
            _Step("load", self.node.load_once, timing.plan_ms),
            _Step("sweep", self.node.sweep_once, timing.sweep_ms),
            _Step("tidy", self.node.tidy_once, TIDY_MS),
            _Step("checkpoint", self.node.checkpoint_once, timing.checkpoint_ms),
        ]
        self._hot = self._engine.spawn(self.host, "hot", self._run_hot)
        self._loops = [
            self._engine.spawn(self.host, "beat", lambda: self._run(beat)),
            self._engine.spawn(self.host, "housekeeping", lambda: self._run(housekeeping)),
            self._hot,
        ]

    def _run(self, steps: list[_Step]) -> None:
        while not self._is_stopping:
            for step in steps:
                if self._engine.now >= step.due_at:
                    step.due_at = self._engine.now + step.every_ms
                    self._try(step.name, step.run)
            self._engine.wake(self._hot)
            self._engine.nap_until(max(min(step.due_at for step in steps), self._engine.now + _LOOK_MS))

    def _run_hot(self) -> None:
        while not self._is_stopping:
            self._try("tick", self.node.tick_once)
            self._try("dispatch", self.node.dispatch_once)
            self._engine.nap_until(self._engine.now + self._idle_ms())

    def _idle_ms(self) -> int:
        """How long neither step has anything to do, as far as one can know."""
        node, now, at = self.node, self.node.ports.clock.now(), self.node.ports.clock.monotonic()
        if not node.may_dispatch:
            return IDLE_MS
        idle_ms: float = IDLE_MS
        if node._rows:
            return HOT_MS
        for lane in node._outbox._lanes.values():
            if lane.waiting:
                ripe_at = at if len(lane.waiting) >= BATCH else lane.oldest_at + node._outbox.patience
                idle_ms = min(idle_ms, (max(ripe_at, lane.paused_until) - at) * SECOND)
        for shard in node.shards.values():
            due = shard._wheel.next_due(now)
            if due is not None:
                idle_ms = min(idle_ms, due - now)
        return int(max(idle_ms, HOT_MS))

    def _drain(self) -> None:
        while not all(task.is_done for task in self._loops):
            self._engine.sleep(HOT_MS)
        self._try("drain", lambda: self.node.drain(until=self.node.ports.clock.monotonic() + 2))
        self.host.kill()

    def _try(self, name: str, run: Callable[[], object]) -> bool:
        """As the runner's steps: a fault of a store is met again at the next turn; anything else is a bug."""
        try:
            run()
        except StoreError as error:
            self._world.note(self.host.name, f"step {name} failed", (error,), None)
            return False
        except Exception:  # noqa: BLE001 (whatever it is, it must not be missed)
            self._world.ledger.violate("bug", f"{self.host.name}.{name}: {traceback.format_exc()}")
            return False
        return True

    def _spread(self, call: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]:
        """As `over_threads`: several at once, and the first fault is raised while the others go on."""
        waiting = list(items)
        if len(waiting) < 2:
            return in_order(call, waiting)
        caller = self._engine.current
        answers: dict[int, R] = {}
        faults: dict[int, Exception] = {}

        def run(index: int, item: T) -> None:
            try:
                answers[index] = call(item)
            except Exception as error:  # noqa: BLE001 (handed to the caller)
                faults[index] = error
            self._engine.wake(caller)

        for index, item in enumerate(waiting):
            self._engine.spawn(self.host, f"sender-{index}", lambda index=index, item=item: run(index, item))  # type: ignore[misc]
        return self._answers(len(waiting), answers, faults)

    def _answers(self, count: int, answers: dict[int, R], faults: dict[int, Exception]) -> Iterable[R]:
        for index in range(count):
            while index not in answers and index not in faults:
                self._engine.nap_until(self._engine.now + IDLE_MS)
            if index in faults:
                raise faults[index]
            yield answers[index]
