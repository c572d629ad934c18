"""Scheduler processes: the steps of a real Node, called by three tasks as `functions.scheduler.runner` does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from functions.scheduler.audit_rules import AuditRules
from functions.scheduler.health import HOT
from functions.scheduler.node import Node
from functions.scheduler.outbox import BATCH
from functions.scheduler.runner import DRAIN_SECONDS, Runner, Step
from functions.scheduler.settings import Ports, Settings
from functions.scheduler.wiring import MOVERS, over_threads
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from tests.simulation.engine import Task
from tests.simulation.hosts import Host, HostClock
from tests.simulation.network import Odd
from tests.simulation.remotes import Remote, RemoteEntries, RemoteLane

if TYPE_CHECKING:
    from tests.simulation.world import World

#: The hot task looks at least this often, as the real one does every 10 ms.
IDLE_MS = 1_000
HOT_MS = 10
_FOR_EVER_MS = 10**12
_MUCH_MEMORY = 500_000
#: After these steps the hot task has no more to do than before.
_LEAVES_NOTHING_TO_SEND = {"tidy", "checkpoint", "report", "turn", "tick", "dispatch"}

#: What was missed of an entry is decided whole once a lane has room for one slot: up to four here (`Asks`).
_REST_OF_STRETCH = 3


class NodeProcess:
    def __init__(self, world: World, host: Host) -> None:
        self.host = host
        self._world = world
        self._engine = world.engine
        clock = HostClock(host)
        ports = Ports(
            fleet=Remote(world.network, host, "fleet", world.fleet),
            entries=RemoteEntries(world.network, host, "entries", world.entries),
            jobs=Remote(world.network, host, "jobs", world.jobs),
            runs=Remote(world.network, host, "runs", world.runs),
            queues={name: RemoteLane(world.network, host, lane) for name, lane in world.lanes.items()},
            clock=clock,
            randomness=SeededRandomness(host.name),
        )
        # Without the audit in half of the worlds: it would put right what must not go wrong in the first place.
        audit = AuditRules() if world.profile.audits else AuditRules(every_ms=_FOR_EVER_MS)
        settings = Settings(
            node_id=host.name,
            version="simulated",
            shard_count=world.profile.shards,
            timing=world.timing,
            audit=audit,
            herds=world.herds,
            senders=world.profile.senders,
        )
        if world.profile.most_residents is not None and not world.has_more_memory:
            settings = replace(settings, most_residents=world.profile.most_residents)
        if world.profile.most_waiting is not None:
            settings = replace(settings, most_waiting=world.profile.most_waiting)
        self.node = Node(ports, settings, over_threads(settings.senders, "sender"), over_threads(MOVERS, "mover"))
        self._runner = Runner(self.node, clock)
        self._is_stopping = False
        self._loops: list[Task] = []
        self._hot: Task | None = None
        self._engine.spawn(host, "main", self._main)

    @property
    def owned(self) -> list[int]:
        """Shards that it holds and has loaded."""
        return [number for number, shard in self.node.shards.items() if shard.coverage.loaded_at is not None]

    def get_more_memory(self) -> None:
        """What did not fit does from now on."""
        self.node.owned.settings = replace(self.node.owned.settings, most_residents=_MUCH_MEMORY)

    def stop(self) -> None:
        """SIGTERM."""
        if not self._is_stopping:
            self._is_stopping = True
            for task in self._loops:
                self._engine.wake(task)
            self._engine.spawn(self.host, "drain", self._drain)

    # Tasks -----------------------------------------------------------------------------------------------------------

    def _main(self) -> None:
        """The process begins anew until it finds the fleet as it expects it."""
        while not self._is_started():
            self._engine.sleep(200)
        for name, steps, pause_seconds in self._runner._loops():
            for step in steps:
                step.run = self._watched(step.name, step.run)
            run = partial(self._turn, steps, int(pause_seconds * SECOND), is_hot=name == HOT)
            self._loops.append(self._engine.spawn(self.host, name, run))
            if name == HOT:
                self._hot = self._loops[-1]

    def _is_started(self) -> bool:
        try:
            self.node.start()
        except (StoreError, Odd):
            return False
        return True

    def _turn(self, steps: list[Step], pause_ms: int, *, is_hot: bool) -> None:
        clock, dice = self.node.ports.clock, self.node.ports.randomness
        while not self._is_stopping:
            have_more = [step.run_if_due(clock, dice) for step in steps]
            if is_hot:
                pause_ms = self._idle_ms(steps)
                self._engine.nap_until(self._engine.now + pause_ms)
                continue
            if any(have_more):
                continue
            due_at = min(step.due_at for step in steps)
            wait_ms = int((due_at - clock.monotonic()) * SECOND) + 1
            self._engine.nap_until(self._engine.now + max(wait_ms, pause_ms))

    def _watched(self, name: str, run: Callable[[], object]) -> Callable[[], object]:
        """A fault of a store is met again at the next turn; anything else is a bug, which the runner would log."""

        def watched() -> object:
            setbacks = self.node.owned.setbacks
            before = setbacks.count
            try:
                return run()
            except StoreError as error:
                self._world.note(self.host.name, f"step {name} failed", (error,), None)
                raise
            except Exception as error:
                self._world.crashed(error, name)
                raise
            finally:
                if setbacks.count > before:
                    # Of one shard: the step went on with the others.
                    self._world.crashed(setbacks.last or Exception("a setback"), name)
                if not self._world.profile.unreadable and any(shard.unreadable for shard in self.node.shards.values()):
                    self._world.ledger.violate("bug", f"{self.host.name}.{name}: an entry was set aside")
                self._check_outbox(name)
                # The real hot loop looks every 10 ms, so before the next step may end.
                if name not in _LEAVES_NOTHING_TO_SEND:
                    self._engine.wake(self._hot)

        return watched

    def _check_outbox(self, name: str) -> None:
        most = self._world.profile.most_waiting
        if most is None:
            return
        for lane in self._world.lanes:
            waiting = self._waiting_for(lane)
            if waiting > most + _REST_OF_STRETCH:
                self._world.ledger.violate("bound", f"{self.host.name}.{name}: {waiting} wait for {lane}, not {most}")

    def _waiting_for(self, lane: str) -> int:
        of_lane = self.node.dispatcher.outbox._lanes.get(lane)
        return 0 if of_lane is None else len(of_lane.waiting)

    def _drain(self) -> None:
        """As the runner: a loop that hangs is not waited for."""
        clock = self.node.ports.clock
        until = clock.monotonic() + DRAIN_SECONDS
        while clock.monotonic() < until - DRAIN_SECONDS / 2 and not all(task.is_done for task in self._loops):
            self._engine.sleep(HOT_MS)
        with suppress(Exception):
            self._watched("drain", lambda: self.node.drain(until=until))()
        self.host.kill()

    def _idle_ms(self, steps: list[Step]) -> int:
        """How long the hot steps have nothing to do, as far as one can know."""
        node, now, at = self.node, self.node.ports.clock.now(), self.node.ports.clock.monotonic()
        if not node.may_dispatch:
            return IDLE_MS
        idle_ms: float = IDLE_MS
        failed_until = max(step.due_at for step in steps)
        if failed_until > at:
            return int((failed_until - at) * SECOND) + 1
        if node.dispatcher.recorder.waiting:
            return HOT_MS
        for lane in node.dispatcher.outbox._lanes.values():
            if lane.waiting:
                ripe_at = at if len(lane.waiting) >= BATCH else lane.oldest_at + node.dispatcher.outbox.patience
                idle_ms = min(idle_ms, (max(ripe_at, lane.paused_until) - at) * SECOND)
        for shard in node.shards.values():
            due = shard.fires.next_tick(now)
            if due is not None:
                idle_ms = min(idle_ms, due - now)
        return int(max(idle_ms, HOT_MS))
