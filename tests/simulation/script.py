"""What a seed does to the world: calls of the API, trouble, a silence, healing, and the last word."""

from __future__ import annotations

from collections.abc import Callable

from shared.domain.instants import MINUTE, SECOND
from tests.simulation.callers import OPERATIONS
from tests.simulation.hosts import Host, Strike
from tests.simulation.nodes import NodeProcess
from tests.simulation.verdict import ownerless, problems_at_the_end, promises_broken
from tests.simulation.workers import WorkerProcess
from tests.simulation.world import START, Result, World, silent_logs

#: I6.
FAIL_OVER_MS = 8 * SECOND
#: After healing everything is settled within this, or it is lost: less than the load every 5 minutes, which would hide
#: what sweeps miss.
SETTLE_MS = 290 * SECOND


def simulate(seed: int, *, is_traced: bool = False, change: Callable[[World], None] = lambda _: None) -> Result:
    """One run. `change` prepares the world, for a planted bug."""
    with silent_logs():
        world = World(seed, is_traced=is_traced)
        change(world)
        Script(world).run()
        for process in world.processes:
            process.host.is_alive = False
            world.engine.end(process.host)
    trace = world.trace or []
    found = world.ledger.violations
    return Result(seed, world.profile, found, trace, len(world.ledger.starts), world.engine.now - START)


class Script:
    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = world.engine
        self.random = world.random
        self.profile = world.profile
        self._is_on = True

    def run(self) -> None:
        world = self.world
        for _ in range(self.profile.nodes):
            world.start_node()
        for _ in range(self.profile.workers):
            world.start_worker()
        for number in range(self.profile.jobs):
            self.engine.after(self.random.randint(0, 15_000), lambda number=number: world.call("create", f"j{number}"))  # type: ignore[misc]
        self._plan_call()
        self._plan_trouble()
        if self.profile.silence_ms:
            self._live(self.profile.duration_ms // 2)
            self._fall_silent()
        self._live(self.profile.duration_ms // (2 if self.profile.silence_ms else 1))
        self._settle()

    def _live(self, duration_ms: int) -> None:
        self.engine.run_until(self.engine.now + duration_ms)

    # The API ---------------------------------------------------------------------------------------------------------

    def _plan_call(self) -> None:
        self.engine.after(self.random.expovariate(self.profile.api_rate) * SECOND, self._call)

    def _call(self) -> None:
        if self._is_on:
            self.world.call(self.random.choice(OPERATIONS), f"j{self.random.randrange(self.profile.jobs)}")
        if not self.world.network.is_healed or self._is_on:
            self._plan_call()

    # Trouble ---------------------------------------------------------------------------------------------------------

    def _plan_trouble(self) -> None:
        if self.profile.trouble_ms:
            # A calm world has time to recover in between.
            low = 0.9 if self.profile.is_calm else 0.2
            self.engine.after(self.profile.trouble_ms * self.random.uniform(low, 1.8), self._trouble)

    def _trouble(self) -> None:
        if self._is_on:
            profile = self.profile
            possible = [(self._kill, profile.kills), (self._pause, profile.pauses), (self._resize, profile.resizes)]
            possible += [(self._partition, profile.partitions), (self._outage, profile.outages)]
            possible += [
                (self._purge, profile.purged > 0),
                (self._brake, profile.brake),
                (self._step_clock, profile.clock_steps),
            ]
            kinds = [kind for kind, is_on in possible if is_on]
            if kinds:
                self.random.choice(kinds)()
        self._plan_trouble()

    def _victim(self) -> NodeProcess | WorkerProcess | None:
        living: list[NodeProcess | WorkerProcess] = [*self.world.live_nodes, *self.world.live_nodes]
        living += self.world.live_workers
        return self.random.choice(living) if living else None

    def _strike(self, host: Host, pause_ms: int | None) -> None:
        """Half of the time between two calls of a port: inside a step."""
        if self.random.random() < 0.6:
            host.strike = Strike(self.random.randint(1, 25), self.random.choice(["before", "after"]), pause_ms)
        elif pause_ms is None:
            self.world.note(host.name, "killed", (), None)
            host.kill()
        else:
            self.world.note(host.name, "paused", (pause_ms,), None)
            host.pause(pause_ms)

    def _kill(self) -> None:
        victim = self._victim()
        if victim is None:
            return
        if self.profile.is_calm and isinstance(victim, NodeProcess):
            victim.host.on_death = lambda: self.engine.after(FAIL_OVER_MS, self._check_owned)
        self._strike(victim.host, None)
        start = self.world.start_node if isinstance(victim, NodeProcess) else self.world.start_worker
        wait_ms = self.random.choice([0, 3, 10, 10, 30]) * SECOND
        self.engine.after(10 * SECOND if self.profile.is_calm else wait_ms, start)

    def _check_owned(self) -> None:
        """I6, the first half."""
        owners = {each.host.name: each.owned for each in self.world.live_nodes}
        for shard in range(self.profile.shards):
            lease = self.world.tables.leases.get(shard)
            if lease is None or shard not in owners.get(lease.owner or "", ()):
                self.world.ledger.violate(
                    "I6", f"shard {shard} is not served {FAIL_OVER_MS} ms after a failure: {lease}"
                )

    def _pause(self) -> None:
        victim = self._victim()
        if victim is not None:
            self._strike(victim.host, self.random.choice([500, 2_500, 3_500, 6_000, 15_000, 40_000]))

    def _partition(self) -> None:
        victim = self._victim()
        if victim is None:
            return
        host, service = victim.host, self.random.choice(["db", "db", "sqs"])
        host.cut.add(service)
        self.world.note(host.name, "cut off from", (service,), None)

        def reconnect() -> None:
            host.cut.discard(service)
            host.troubled_at = self.engine.now

        self.engine.after(self.random.choice([2, 5, 12, 30]) * SECOND, reconnect)

    def _outage(self) -> None:
        service = self.random.choice(["db", "db", "sqs"])
        duration_ms = self.random.choice([8, 30, 45, 60]) * SECOND
        network = self.world.network
        if network.out:
            return
        network.out.add(service)
        if service == "db":
            self.world.ledger.outages.append((self.engine.now, self.engine.now + duration_ms))
        self.world.note("world", "outage of", (service, duration_ms), None)
        self.engine.after(duration_ms, lambda: network.out.discard(service))

    def _purge(self) -> None:
        name = self.random.choice(list(self.world.lanes))
        self.world.lanes[name].lose_all()
        self.world.note("world", "messages are gone", (name,), None)

    def _brake(self) -> None:
        self.world.fleet.set_firing(is_firing=False)
        self.world.note("world", "brake", (), None)
        self.engine.after(self.random.choice([2, 8, 25]) * SECOND, lambda: self.world.fleet.set_firing(is_firing=True))

    def _step_clock(self) -> None:
        victim = self._victim()
        if victim is not None:
            is_node = isinstance(victim, NodeProcess)
            victim.host.offset_ms = self.world.node_skew() if is_node else self.world.skew(self.profile.skew_ms)
            self.world.note(victim.host.name, "clock stepped to", (victim.host.offset_ms,), None)
            self.world.wake_all()

    def _resize(self) -> None:
        living = self.world.live_nodes
        dice = self.random.random()
        if dice < 0.4 and len(living) < 5:
            self.world.start_node()
        elif dice < 0.7 and len(living) > 2:
            self._stop(self.random.choice(living))
        else:
            self._deploy(living)

    def _deploy(self, old: list[NodeProcess]) -> None:
        """New nodes come, then the old ones are told to go."""
        self.world.is_upgraded = self.profile.upgrades
        for number, process in enumerate(old):
            self.engine.after(number * 3 * SECOND, self.world.start_node)
            self.engine.after(number * 3 * SECOND + 2 * SECOND, lambda process=process: self._stop(process))  # type: ignore[misc]

    def _stop(self, process: NodeProcess) -> None:
        if process.host.is_alive:
            self.world.note(process.host.name, "SIGTERM", (), None)
            process.stop()

    # Silence ---------------------------------------------------------------------------------------------------------

    def _fall_silent(self) -> None:
        """Hours in which nothing is due pass at once; now and then the hosts live for some seconds."""
        self._is_on = False
        self.world.reconnect()
        if not self.world.has_right_clock:
            self.world.start_node()
        wakes_at = self.engine.now + self.profile.silence_ms
        while self.engine.now < wakes_at:
            if not self._becomes_idle():
                break
            next_due = self._next_due()
            quiet_until = wakes_at if next_due is None else min(next_due - 15 * SECOND, wakes_at)
            ahead_ms = quiet_until - self.engine.now
            if ahead_ms <= 0:
                self._live(20 * SECOND)
                continue
            # Not past a load that would have seen the next entry, but in one leap where there is none.
            leap_ms = ahead_ms - 11 * MINUTE if ahead_ms > 12 * MINUTE else min(ahead_ms, 4 * MINUTE)
            if leap_ms > MINUTE and self.random.random() < 0.5:
                leap_ms = self.random.randint(MINUTE, leap_ms)
            self.engine.warp(leap_ms)
            self.world.note("world", "nothing happens for", (leap_ms,), None)
            self.world.wake_all()
            self._expire_rows()
            self._live(4 * SECOND)
        self._is_on = True
        self.world.schedules.ends_at = None
        if self.random.random() < 0.5 and self.world.live_nodes and self.profile.kills:
            self._kill()

    def _becomes_idle(self) -> bool:
        for _ in range(30):
            is_idle = not self.world.calls and all(worker.is_idle for worker in self.world.live_workers)
            if is_idle and not any(ownerless(self.world)):
                return True
            self._live(5 * SECOND)
        return False

    def _next_due(self) -> int | None:
        """When the next slot is due, in truth."""
        dues = []
        for generations in self.world.ledger.generations.values():
            index = generations[-1].settled
            while (fire := generations[-1].fire(index)) is not None and fire.due < self.engine.now - MINUTE:
                index += 1
            if fire is not None:
                dues.append(int(fire.due))
        return min(dues, default=None)

    def _expire_rows(self) -> None:
        """Time to live: rows go some time after they expired."""
        tables, before = self.world.tables, self.engine.now - 5 * MINUTE
        for key in [key for key, job in tables.jobs.items() if job.expires_at is not None and job.expires_at < before]:
            del tables.jobs[key]
        for run_key in [
            key for key, run in tables.runs.items() if run.expires_at is not None and run.expires_at < before
        ]:
            tables.remove_run(run_key)

    # The end ---------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        self._is_on = False
        self.world.heal()
        owed_until = self.engine.now + 10 * SECOND
        ends_at = self.engine.now + SETTLE_MS
        self._live(12 * SECOND)
        while (problems := problems_at_the_end(self.world, owed_until)) and self.engine.now < ends_at:
            self._live(2 * SECOND)
        self.world.ledger.violations += problems
        self.world.ledger.violations += promises_broken(self.world)
