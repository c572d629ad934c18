"""What a seed does to the world: calls of the API, a silence, healing, and the last word."""

from __future__ import annotations

from unittest.mock import patch

from shared.domain import job as jobs
from shared.domain.instants import MINUTE, SECOND
from shared.domain.limits import MAX_NAMED_RUNS
from tests.simulation.substitutes import simulated
from tests.simulation.trouble import Trouble
from tests.simulation.verdict import ownerless, problems_at_the_end, promises_broken
from tests.simulation.world import START, Result, World, silent_logs

#: After healing everything is settled within this, or it is lost: less than the load every 5 minutes, which would hide
#: what sweeps miss.
SETTLE_MS = 290 * SECOND


def simulate(seed: int, *, family: str | None = None, is_traced: bool = False) -> Result:
    """One run, of the family that the seed draws or of the one that is named."""
    world = World(seed, family=family, is_traced=is_traced)
    room = world.profile.most_named or MAX_NAMED_RUNS
    with silent_logs(world), simulated(world.engine, world.crashed), patch.object(jobs, "MAX_NAMED_RUNS", room):
        Script(world).run()
        for process in world.processes:
            process.host.is_alive = False
            world.engine.end(process.host)
    trace = world.trace or []
    found = world.ledger.violations
    return Result(seed, family, world.profile, found, trace, len(world.ledger.starts), world.engine.now - START)


class Script:
    def __init__(self, world: World) -> None:
        self.world = world
        self.engine = world.engine
        self.random = world.random
        self.profile = world.profile
        self._is_on = True
        self.trouble = Trouble(world)

    def run(self) -> None:
        world = self.world
        for _ in range(self.profile.nodes):
            world.start_node()
        for _ in range(self.profile.workers):
            world.start_worker()
        if self.profile.functions:
            world.start_functions()
        if self.profile.settles:
            world.start_settling()
        for number in range(self.profile.jobs):
            self.engine.after(self.random.randint(0, 15_000), lambda number=number: world.call("create", f"j{number}"))  # type: ignore[misc]
        self._plan_call()
        self.trouble.plan()
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
            self.world.call(self.random.choice(self.profile.calls), f"j{self.random.randrange(self.profile.jobs)}")
        if not self.world.network.is_healed or self._is_on:
            self._plan_call()

    # Silence ---------------------------------------------------------------------------------------------------------

    def _fall_silent(self) -> None:
        """Hours in which nothing is due pass at once; now and then the hosts live for some seconds."""
        self._is_on = self.trouble.is_on = False
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
        self._is_on = self.trouble.is_on = True
        self.world.asks.ends_at = None
        if self.random.random() < 0.5 and self.world.live_nodes and self.profile.kills:
            self.trouble.kill()

    def _becomes_idle(self) -> bool:
        for _ in range(30):
            workers = [*self.world.live_workers, self.world.functions]
            is_idle = not self.world.calls and all(each.is_idle for each in workers if each is not None)
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
        self._is_on = self.trouble.is_on = False
        self.world.heal()
        owed_until = self.engine.now + 10 * SECOND
        ends_at = self.engine.now + SETTLE_MS
        self._live(12 * SECOND)
        while (problems := problems_at_the_end(self.world, owed_until)) and self.engine.now < ends_at:
            self._live(2 * SECOND)
        self.world.ledger.violations += problems
        self.world.ledger.violations += promises_broken(self.world)
