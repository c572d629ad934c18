"""Trouble: what befalls the hosts of a world and what they depend on, now and then."""

from __future__ import annotations

from shared.domain.instants import SECOND
from tests.simulation.hosts import Host, Strike
from tests.simulation.nodes import NodeProcess
from tests.simulation.workers import WorkerProcess
from tests.simulation.world import World

#: I6.
FAIL_OVER_MS = 8 * SECOND


class Trouble:
    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = world.engine
        self.random = world.random
        self.profile = world.profile
        self.is_on = True

    def plan(self) -> None:
        if self.profile.trouble_ms:
            # A calm world has time to recover in between.
            low = 0.9 if self.profile.is_calm else 0.2
            self.engine.after(self.profile.trouble_ms * self.random.uniform(low, 1.8), self._trouble)

    def _trouble(self) -> None:
        if self.is_on:
            profile = self.profile
            possible = [(self.kill, profile.kills), (self._pause, profile.pauses), (self._resize, profile.resizes)]
            possible += [(self._partition, profile.partitions), (self._outage, profile.outages)]
            possible += [
                (self._purge, profile.purged > 0),
                (self._brake, profile.brake),
                (self._step_clock, profile.clock_steps),
                (self._leap, profile.clock_leaps),
                (self._long_outage, profile.long_outages),
                (self._replace_worker, profile.worker_stops),
                (self._fill, profile.full_jobs),
            ]
            kinds = [kind for kind, is_on in possible if is_on]
            if kinds:
                self.random.choice(kinds)()
        self.plan()

    def _victim(self) -> NodeProcess | WorkerProcess | None:
        nodes = [] if self.profile.is_of_workers else self.world.live_nodes
        living: list[NodeProcess | WorkerProcess] = [*nodes, *nodes]
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

    def kill(self) -> None:
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
            self._strike(victim.host, self.random.choice(self.profile.pauses_ms))

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
            victim.host.set_clock(self.world.node_skew() if is_node else self.world.skew(self.profile.skew_ms))
            self.world.note(victim.host.name, "clock stepped to", (victim.host.offset_ms,), None)
            self.world.wake_all()

    def _leap(self) -> None:
        """Of a node's clock, as a time server that is wrong for a moment makes it."""
        living = self.world.live_nodes
        if not living:
            return
        by_ms = self.random.choice([30, 120, 3_600]) * SECOND
        # Of one, or of all: then there is nobody to take over.
        hosts = [each.host for each in living] if self.random.random() < 0.3 else [self.random.choice(living).host]
        for host in hosts:
            host.set_clock(host.offset_ms + by_ms)
            self.world.note(host.name, "clock leaps by", (by_ms,), None)
        self.world.wake_all()

        def back() -> None:
            # All clocks were set right when the world was healed.
            for host in hosts if not self.world.network.is_healed else ():
                host.set_clock(host.offset_ms - by_ms)
                self.world.note(host.name, "clock is back", (), None)
            self.world.wake_all()

        self.engine.after(self.random.choice([1, 5, 9]) * SECOND, back)

    def _long_outage(self) -> None:
        """Of the queues, for minutes."""
        network = self.world.network
        network.out.add("sqs")
        self.world.note("world", "outage of", ("sqs",), None)
        self.engine.after(self.random.choice([60, 150]) * SECOND, lambda: network.out.discard("sqs"))

    def _fill(self) -> None:
        """Of a job, the table takes no more rows."""
        jobs = sorted(self.world.tables.jobs)
        if jobs:
            job_key = self.random.choice(jobs)
            self.world.runs.full_jobs.add(job_key)
            self.world.note("world", "no more rows of", (job_key,), None)

    def _replace_worker(self) -> None:
        living = self.world.live_workers
        if living:
            self.world.start_worker()
            self._stop(self.random.choice(living))

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

    def _stop(self, process: NodeProcess | WorkerProcess) -> None:
        if process.host.is_alive:
            self.world.note(process.host.name, "SIGTERM", (), None)
            process.stop()
