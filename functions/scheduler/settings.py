"""What a node is given: its ports, its settings, and how it spreads calls over threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from functions.scheduler.audit_rules import AuditRules
from functions.scheduler.herds import HerdRules
from functions.scheduler.outbox import MOST_WAITING
from shared.config import HOLDING_LANES_VARIABLE, LONGEST_LEAD_VARIABLE, shard_count, version
from shared.domain.instants import DAY
from shared.domain.timing import Timing
from shared.observability.announcing import Announcements
from shared.ports import Clock, DueQueue, EntryStore, FleetStore, JobStore, Randomness, RunStore

RUN_RETENTION_DAYS = 30
#: Calls on their way to SQS at once: they hide the ten milliseconds that it takes for each.
SENDERS = 16

T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol):
    """Runs a call for each item, perhaps several at once; answers in order."""

    def __call__(self, call: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]: ...


def in_order(call: Callable[[T], R], items: Iterable[T], /) -> Iterable[R]:
    """One call after the other, in the caller's thread."""
    return [call(item) for item in items]


@dataclass(frozen=True, slots=True)
class Ports:
    fleet: FleetStore
    entries: EntryStore
    jobs: JobStore
    runs: RunStore
    #: By lane.
    queues: Mapping[str, DueQueue]
    clock: Clock
    randomness: Randomness
    #: Lifecycle events, published by a thread of their own.
    announcements: Announcements = field(default_factory=lambda: Announcements(None))


@dataclass(frozen=True, slots=True)
class Settings:
    #: Fresh at every start, or a restarted process would inherit its own old epoch.
    node_id: str
    version: str
    shard_count: int
    timing: Timing = Timing()
    #: Of the rows that the scheduler writes itself (a skipped gap, a refused dispatch).
    run_retention_ms: int = RUN_RETENTION_DAYS * DAY
    catch_up_per_second: float = 50.0
    #: Entries in memory, at 600 B each at most: with them a node takes less than 300 MB of its 512. Heavier ones count
    #: for several.
    most_residents: int = 500_000
    senders: int = SENDERS
    #: Slots that one tick takes from the wheels, so that it does not take long, and those that wait for each lane.
    slots_at_once: int = 2_000
    most_waiting: int = MOST_WAITING
    #: Rows that wait to be written before misfire policies decide over more.
    most_rows: int = 1_000
    #: How long loads and sweeps go on before the other steps of their thread have a turn: what was begun by then, a
    #: page of the table at most, ends within twenty milliseconds.
    slice_seconds: float = 0.015
    audit: AuditRules = AuditRules()
    herds: HerdRules = HerdRules()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, node_id: str) -> Settings:
        """Raises ValueError."""
        timing = Timing()
        return cls(
            node_id=node_id,
            version=version(environment),
            shard_count=shard_count(environment),
            timing=timing.sweeping_every(int(environment.get("CARILLON_SWEEP_MS", timing.sweep_ms))),
            senders=int(environment.get("CARILLON_SENDERS", SENDERS)),
            run_retention_ms=int(environment.get("CARILLON_RUN_RETENTION_DAYS", RUN_RETENTION_DAYS)) * DAY,
            herds=HerdRules(
                most_ms=max(int(environment.get(LONGEST_LEAD_VARIABLE, timing.lead_ms)) - timing.lead_ms, 0),
                lanes=frozenset(filter(None, environment.get(HOLDING_LANES_VARIABLE, "").split(","))),
            ),
        )


class ShardCountPinned(Exception):
    """The fleet was started with another number of shards; this node would look for jobs in the wrong ones."""

    def __init__(self, *, configured: int, pinned: int) -> None:
        self.configured = configured
        self.pinned = pinned
        super().__init__(f"this fleet has {pinned} shards, but this node is configured for {configured}: set it back")
