"""Worker processes: the steps of a real Executor, called by tasks as `functions.worker.process_host` does."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, Targets, failed, succeeded
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND
from tests.simulation.hosts import Host, HostClock
from tests.simulation.network import Remote, RemoteEntries, RemoteJobs, RemoteLane

if TYPE_CHECKING:
    from tests.simulation.world import World

OWN_OPERATIONS = ("reschedule", "pause", "resume", "delete", "recreate")
_PAUSE_AFTER_FAULT_MS = 1_000
_FOR_EVER = 10**15
_RECEIVERS = 2


class SimulatedTarget:
    """Takes its time, and now and then fails, breaks or hangs."""

    def __init__(self, world: World, host: Host, clock: HostClock) -> None:
        self._world = world
        self._host = host
        self._clock = clock

    def call(self, call: Call) -> Outcome:
        world, random = self._world, self._world.random
        world.ledger.started(
            self._host.name, call.key, call.slot, call.token, worker_now=self._clock.now(), due=call.fire_at
        )
        world.note(self._host.name, "target", (call.key, call.token), None)
        if random.random() < world.profile.own_changes and not world.network.is_healed:
            # A handler that changes or ends its own job, at the very moment at which the scheduler is busy with it.
            world.call(random.choice(OWN_OPERATIONS), call.job_id)
        if world.network.is_healed or random.random() >= world.profile.slow_runs:
            world.engine.sleep(random.randint(0, 200))
            return succeeded()
        world.engine.sleep(random.choice([500, 5_000, 20_000, 45_000, 70_000]))
        dice = random.random()
        if dice < 0.3:
            raise RuntimeError("simulated")
        return failed("simulated", "no") if dice < 0.5 else succeeded()


class WorkerProcess:
    """One process; one executor for each lane."""

    def __init__(self, world: World, host: Host) -> None:
        self.host = host
        self._world = world
        self._engine = world.engine
        self.executors = {}
        clock = HostClock(host)
        for name, lane in world.lanes.items():
            queue = RemoteLane(world.network, host, lane)
            executor = Executor(
                queue=queue,
                run_store=Remote(world.network, host, "runs", world.runs),
                job_store=RemoteJobs(world.network, host, "jobs", world.jobs),
                targets=Targets({"handler": SimulatedTarget(world, host, clock)}),
                clock=clock,
                randomness=SeededRandomness(f"{host.name}/{name}"),
                settings=world.worker_settings,
                worker_id=host.name,
                lane=name,
                entry_store=RemoteEntries(world.network, host, "entries", world.entries),
            )
            self.executors[name] = executor
            _LaneTasks(world, host, queue=queue, executor=executor, name=name)

    @property
    def is_idle(self) -> bool:
        is_busy = any(len(executor.runs) for executor in self.executors.values())
        return not is_busy and all(task.is_napping for task in self.host.tasks)


class _LaneTasks:
    def __init__(self, world: World, host: Host, *, queue: RemoteLane, executor: Executor, name: str) -> None:
        self._world = world
        self._engine = world.engine
        self._host = host
        self._clock = HostClock(host)
        self._queue = queue
        self._executor = executor
        self._settings: WorkerSettings = world.worker_settings
        self._lane = world.lanes[name]
        self._receivers = [
            self._engine.spawn(host, f"{name}-receive", self._loop(self._receive)) for _ in range(_RECEIVERS)
        ]
        self._time = self._engine.spawn(host, f"{name}-time", self._loop(self._watch_time))
        self._ends = self._engine.spawn(host, f"{name}-ends", self._loop(self._store_ends))
        self._alive = self._engine.spawn(host, f"{name}-alive", self._loop(self._keep_alive))
        self._lane.waiting.append(self._message_came)

    def _message_came(self) -> None:
        for receiver in self._receivers:
            self._engine.wake(receiver)

    def _loop(self, step: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            while True:
                try:
                    step()
                except StoreError as error:
                    self._world.note(self._host.name, f"{step.__name__} failed", (error,), None)
                    self._engine.sleep(_PAUSE_AFTER_FAULT_MS)
                except Exception:  # noqa: BLE001 (whatever it is, it must not be missed)
                    where = f"{self._host.name}.{step.__name__}"
                    self._world.ledger.violate("bug", f"{where}: {traceback.format_exc()}")
                    return

        return run

    def _receive(self) -> None:
        runs = self._executor.runs
        room = min(self._settings.max_held - runs.unstarted, 10)
        if room <= 0 or runs.launched >= self._settings.threads:
            self._engine.nap_until(self._engine.now + 100)
            return
        deliveries = self._queue.receive(
            limit=room, wait_seconds=10, visibility_seconds=self._settings.visibility_seconds
        )
        if not deliveries:
            visible_at = self._lane.next_visible_at()
            self._engine.nap_until(_FOR_EVER if visible_at is None else max(visible_at, self._engine.now + 20))
            return
        try:
            self._executor.claim_once(deliveries)
        finally:
            self._wake_all()

    def _watch_time(self) -> None:
        for live in self._executor.start_due_once():
            self._engine.spawn(self._host, "handler", lambda live=live: self._execute(live))  # type: ignore[misc]
        self._executor.expire_once()
        self._engine.wake(self._ends)
        seconds = self._executor.runs.seconds_until_due(self._clock.now(), self._clock.monotonic())
        wait_ms = SECOND if seconds is None else min(int(seconds * SECOND) + 1, SECOND)
        self._engine.nap_until(self._engine.now + wait_ms if len(self._executor.runs) else _FOR_EVER)

    def _execute(self, live: LiveRun) -> None:
        try:
            self._executor.execute(live)
        except Exception:  # noqa: BLE001 (whatever it is, it must not be missed)
            self._world.ledger.violate("bug", f"{self._host.name}.execute: {traceback.format_exc()}")
        self._wake_all()

    def _store_ends(self) -> None:
        if not self._executor.runs.ending:
            self._engine.nap_until(_FOR_EVER)
            return
        self._executor.finish_once()

    def _keep_alive(self) -> None:
        if not len(self._executor.runs):
            self._engine.nap_until(_FOR_EVER)
            return
        self._executor.read_once()
        self._executor.heartbeat_once()
        self._engine.wake(self._time)
        self._engine.nap_until(self._engine.now + _PAUSE_AFTER_FAULT_MS)

    def _wake_all(self) -> None:
        for task in (self._time, self._ends, self._alive):
            self._engine.wake(task)
