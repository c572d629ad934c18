"""A world of nodes, workers and callers on memory adapters, driven by one seed."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any, cast
from unittest.mock import patch
from zoneinfo import ZoneInfoNotFoundError

from aws_lambda_powertools import Logger

from functions.scheduler.herds import HerdRules
from functions.worker.settings import WorkerSettings
from shared.adapters.memory import MemoryDeadLetterQueue
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND, Instant, to_rfc3339
from shared.domain.owner_places import EVERYONE, OwnerMaximums
from shared.domain.timing import Timing
from shared.schema import LANES
from tests.simulation.asks import Asks
from tests.simulation.callers import ApiCall, Asked
from tests.simulation.engine import Engine, Killed
from tests.simulation.families import profile_of
from tests.simulation.hosts import Host, TrueClock
from tests.simulation.lanes import SimulatedLane
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.network import Network, Odd
from tests.simulation.nodes import NodeProcess
from tests.simulation.profile import Profile
from tests.simulation.settling import Settling
from tests.simulation.spoiled import Spoiled, Unreadable
from tests.simulation.stores import (
    RecordedEntryStore,
    RecordedFleetStore,
    RecordedJobStore,
    RecordedRunStore,
    RecordedTables,
)
from tests.simulation.targets import TargetBroke
from tests.simulation.threads import CannotStart
from tests.simulation.workers import EventSource, WorkerProcess

#: 2026-11-27T00:00:00Z, and a bit, so that minutes do not begin with the world.
START = 1_795_737_600_000 + 31_417


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    family: str | None
    profile: Profile
    violations: list[Violation]
    trace: list[str]
    runs: int
    simulated_ms: int


def dice_of(seed: int, family: str | None = None) -> Random:
    """The first thing they decide is the profile."""
    return Random(f"carillon-{seed}" if family is None else f"carillon-{family}-{seed}")


def herds_of(seed: int) -> HerdRules:
    """In half of the worlds workers hold what is early, and claim so slowly that two slots of a second are a herd."""
    dice = Random(f"herds-{seed}")
    if dice.random() < 0.5:
        return HerdRules()
    return HerdRules(most_ms=dice.choice([2_000, 4_700]), lanes=LANES, claims_per_second=dice.choice([0.5, 2.0]))


#: So short that entries come and go within a world.
CROWDED = {
    "load_ms": 15 * SECOND,
    "horizon_ms": 30 * SECOND,
    "residency_ms": 40 * SECOND,
    "shortest_residency_ms": 8 * SECOND,
    # As short as may be: then what was announced long ago is met by loads only.
    "margin_ms": 182 * SECOND,
}


#: What is made to happen; all else is a bug.
_FAULTS = (StoreError, Odd, TargetBroke, CannotStart, Killed, Unreadable, ZoneInfoNotFoundError)


class World:
    def __init__(self, seed: int, *, family: str | None = None, is_traced: bool = False) -> None:
        self.random = dice_of(seed, family)
        self.profile = profile_of(self.random, family)
        self.engine = Engine(Random(self.random.random()), START)
        self.trace: list[str] | None = [] if is_traced else None
        self.ledger = Ledger(lambda: self.engine.now)
        clock = TrueClock(self.engine)
        self.tables = RecordedTables(clock=clock, ledger=self.ledger)
        self.spoiled = Spoiled(self.tables, Random(f"spoiled-{seed}"), self.profile.unreadable)
        self.jobs = RecordedJobStore(self.tables, self.ledger, self.engine, self.spoiled)
        self.jobs.most_named = self.profile.most_named
        self.entries = RecordedEntryStore(self.tables, self.ledger, page_size=self.random.choice([1, 3, 50]))
        self.runs = RecordedRunStore(self.tables, self.ledger, self.engine)
        self.runs.unanswered = self.profile.unanswered_rows
        self.hosts: dict[str, Host] = {}
        self.fleet = RecordedFleetStore(self.tables, self.ledger, self.hosts)
        self.lanes = {
            name: SimulatedLane(clock, Random(self.random.random()), self.profile, self.ledger) for name in LANES
        }
        self.letters = MemoryDeadLetterQueue()
        note = self.note if is_traced else None
        self.network = Network(self.engine, Random(self.random.random()), self.profile, note)
        is_crowded = self.profile.most_residents is not None or self.profile.unreadable
        self.timing = replace(Timing(), **CROWDED) if is_crowded else Timing()
        self.herds = herds_of(seed)
        maximum = self.profile.owner_maximum
        self.worker_settings = WorkerSettings(
            longest_lead_ms=self.timing.lead_ms + self.herds.most_ms,
            threads=self.profile.threads,
            webhooks=self.profile.places,
            **({} if self.profile.clock_bound_ms is None else {"clock_bound_ms": self.profile.clock_bound_ms}),
            owner_maximums=OwnerMaximums({} if maximum is None else {EVERYONE: maximum}),
        )
        self.ledger.executions.is_strict = self.profile.is_strict
        self.ledger.executions.is_prompt = self.profile.is_prompt
        self.ledger.executions.owner_maximum = maximum
        self.ledger.acting = self._acting
        self.ledger.judges_health = self.profile.faulty < 0.05 and self.profile.slow < 0.1
        self.ledger.hold_ms = self.worker_settings.longest_lead_ms + self.worker_settings.hold_slack_ms
        ends_at = START + self.profile.duration_ms // 2 if self.profile.silence_ms else None
        self.asks = Asks(self.random, self.profile, ends_at=ends_at)
        #: Requests under a key; and what each job was last declared as.
        self.asked: list[Asked] = []
        self.declared: dict[str, Any] = {}
        self.nodes: list[NodeProcess] = []
        self.workers: list[WorkerProcess] = []
        self.functions: EventSource | None = None
        #: API calls under way.
        self.calls: set[str] = set()
        self._api_offsets = [self.skew(self.profile.skew_ms) for _ in range(3)]
        self._named = 0
        self.has_more_memory = False
        #: Hosts that start from now on run the next version.
        self.is_upgraded = False

    def note(self, who: str, what: str, args: tuple[Any, ...], answer: object) -> None:
        if self.trace is not None:
            shown = ", ".join(_short(each) for each in args)
            moment = to_rfc3339(Instant(self.engine.now))[11:23]
            self.trace.append(
                f"{moment}  {who:<10} {what}({shown})" + ("" if answer is None else f" -> {_short(answer)}")
            )

    def _acting(self) -> list[str]:
        return [] if self.engine.current is None else [self.engine.current.host.name]

    # Hosts -----------------------------------------------------------------------------------------------------------

    def skew(self, bound_ms: int) -> int:
        """Often none, sometimes the worst."""
        return self.random.choice([0, self.random.randint(-bound_ms, bound_ms), -bound_ms, bound_ms])

    def node_skew(self) -> int:
        """Of a node's clock. One node is right, or nobody would take a shard: that is the clock guard, and no fault."""
        return self.skew(self.profile.node_skew_ms) if self.has_right_clock else 0

    @property
    def has_right_clock(self) -> bool:
        return any(abs(node.host.offset_ms) < self.timing.clock_guard_ms for node in self.live_nodes)

    def start_node(self) -> NodeProcess:
        process = NodeProcess(self, self._host("node", self.node_skew()))
        self.nodes.append(process)
        return process

    def start_worker(self) -> WorkerProcess:
        process = WorkerProcess(self, self._host("worker", self.skew(self.profile.skew_ms)))
        self.workers.append(process)
        return process

    def start_functions(self) -> None:
        """The event source mappings of the lanes, which never fail."""
        self.functions = EventSource(self, self._host("mapping", 0))

    def start_settling(self) -> None:
        """The function that settles what the lanes' queues gave up."""
        Settling(self, self._host("settling", 0))

    def start_function(self) -> Host:
        return self._host("function", self.skew(self.profile.skew_ms))

    def call(self, operation: str, job_id: str) -> None:
        host = self._host("api", self.random.choice(self._api_offsets))
        self.calls.add(host.name)
        ApiCall(self, host, operation, job_id)

    def _host(self, kind: str, offset_ms: int) -> Host:
        self._named += 1
        name = f"{kind}-{self._named}"
        host = self.hosts[name] = Host(name, self.engine, offset_ms, is_newer=self.is_upgraded)
        if self.profile.unstarted_threads and kind == "worker":
            host.lacks_threads = lambda: self._lacks_threads(host)
        if self.profile.preempted and kind in {"worker", "function"}:
            host.preempted_ms = self._preempted_ms
        self.note(host.name, "starts", (f"clock {offset_ms:+} ms",), None)
        return host

    def _preempted_ms(self) -> int:
        is_preempted = not self.network.is_healed and self.random.random() < self.profile.preempted
        return self.random.choice([1, 50, 700]) if is_preempted else 0

    def _lacks_threads(self, host: Host) -> bool:
        is_young = self.engine.now < host.booted_at + 2 * SECOND
        return not is_young and not self.network.is_healed and self.random.random() < self.profile.unstarted_threads

    @property
    def processes(self) -> list[NodeProcess | WorkerProcess]:
        """All that live."""
        return [*self.live_nodes, *self.live_workers]

    @property
    def live_nodes(self) -> list[NodeProcess]:
        return [each for each in self.nodes if each.host.is_alive]

    @property
    def live_workers(self) -> list[WorkerProcess]:
        return [each for each in self.workers if each.host.is_alive]

    def crashed(self, error: Exception, where: str = "thread") -> None:
        """Something was raised that is no fault of this world's: a bug."""
        if not isinstance(error, _FAULTS):
            found = "".join(traceback.format_exception(error))
            self.ledger.violate("bug", f"{' '.join(self._acting())} {where}: {found}")

    # Healing ---------------------------------------------------------------------------------------------------------

    def reconnect(self) -> None:
        """Whoever is paused goes on, and everybody reaches everything."""
        self.network.out.clear()
        self.ledger.outages = [(start, min(end, self.engine.now)) for start, end in self.ledger.outages]
        self.tables.is_firing = True
        for process in self.processes:
            process.host.cut.clear()
            process.host.strike = None
            process.host.resume()

    def heal(self) -> None:
        """No fault happens from now on, clocks are right, and enough hosts live."""
        self.reconnect()
        self.network.heal()
        self.spoiled.heal()
        self.runs.full_jobs.clear()
        self.runs.unanswered = 0.0
        for lane in self.lanes.values():
            lane.heal()
        for process in self.processes:
            process.host.offset_ms = 0
        if self.profile.gets_more_memory:
            self.has_more_memory = True
            for node in self.live_nodes:
                node.get_more_memory()
        while len(self.live_nodes) < 2:
            self.start_node()
        while len(self.live_workers) < 2 and self.functions is None:
            self.start_worker()

    def wake_all(self) -> None:
        """After a warp: whoever waits looks at the clock."""
        for task in [task for process in self.processes for task in process.host.tasks]:
            self.engine.wake(task)


@contextmanager
def silent_logs(world: World) -> Iterator[None]:
    """The real code logs what a simulation does thousands of times; but what it took for a bug is one."""

    def nothing(*_: object, **__: object) -> None:
        pass

    def exception(_: object, message: object, *__: object, **___: object) -> None:
        world.crashed(cast("Exception", sys.exc_info()[1]), str(message))

    with ExitStack() as stack:
        for name in ("debug", "info", "warning", "error"):
            stack.enter_context(patch.object(Logger, name, nothing))
        stack.enter_context(patch.object(Logger, "exception", exception))
        yield


_NOISE = re.compile(
    r"(\w+)=(None|''|\(\)|0|1|False|'default'|Misfire\([^)]*\)|<RunKind.SCHEDULED: 'scheduled'>)(, |(?=\)))"
)
_ENUM = re.compile(r"<\w+\.(\w+): '\w+'>")
_BODY = re.compile(r"body='[^']*', ")


def _short(value: object) -> str:
    """Without what is as always."""
    text = _ENUM.sub(r"\1", _NOISE.sub("", _BODY.sub("", str(value))))
    return text if len(text) <= 500 else text[:500] + "..."
