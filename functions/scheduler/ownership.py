"""Which shards this node owns, and whether it may act on it: beat, plan, take, lose.

What the other parts of a node share is here too: the ports, and the lock that guards what is in memory. It is never
held across a call to a port.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import RLock
from typing import NamedTuple, TypeAlias

from functions.scheduler.clock_guard import ClockGuard
from functions.scheduler.herds import Herds
from functions.scheduler.membership import Observer, Trust
from functions.scheduler.planning import plan
from functions.scheduler.setbacks import Setbacks
from functions.scheduler.settings import Ports, Settings, ShardCountPinned
from functions.scheduler.shard import Shard
from shared.domain import message
from shared.domain.errors import StoreError
from shared.domain.fleet import FleetSnapshot, Lease, Node
from shared.domain.instants import Instant
from shared.observability.logs import logger_for

_log = logger_for("scheduler")

#: Of work that may be broken off after each of them.
Parts: TypeAlias = Generator[None, None, None]


class Moment(NamedTuple):
    """What the clocks show: `now` this host's, `at` its monotonic one, and `passed` what the store's shows at least."""

    now: Instant
    at: float
    passed: Instant


@dataclass(slots=True)
class Ownership:
    """A node's membership in the fleet, and the shards it holds."""

    ports: Ports
    settings: Settings
    shards: dict[int, Shard] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)
    #: Called under the lock with the number of a shard that was lost: whoever keeps something of it lets go.
    on_lost: list[Callable[[int], None]] = field(default_factory=list)
    #: As of the last beat and the last plan, for metrics.
    beats: int = 0
    skew_ms: int = 0
    unowned: int = 0
    owed_since: Mapping[int, Instant] = field(default_factory=dict)
    #: Of all shards together.
    herds: Herds = field(init=False)
    setbacks: Setbacks = field(init=False)
    #: To be taken from its live owner, once it is loaded.
    arriving: Shard | None = None
    _trust: Trust = field(init=False)
    _observer: Observer = field(init=False)
    _beat: int = 0
    _is_firing: bool = True
    _clock_agreed: bool = True
    _guard: ClockGuard = field(init=False)
    #: The number of a shard whose lease could not be written.
    _hard_to_take: int = -1
    _started_at: Instant = field(init=False)

    def __post_init__(self) -> None:
        timing = self.settings.timing
        timing.check()
        self.herds = Herds(self.settings.herds)
        self._guard = ClockGuard(timing.clock_guard_ms)
        self.setbacks = Setbacks(self.ports.clock, self.ports.randomness)
        self._trust = Trust(timing.trust_ms)
        self._observer = Observer(timing.dead_ms, longest_step_ms=timing.plan_ms * 3 // 2)
        self._started_at = self.ports.clock.now()

    def in_turn(self, step: str, act: Callable[[Shard], None]) -> None:
        """Do this with each shard. Raises StoreError as soon as `act` does, and has that shard come last from then on:
        one whose rows cannot be had keeps no other from its turn. Any other fault hurts only its shard, and is logged.
        """
        for shard in list(self.shards.values()):
            if not self.setbacks.holds_up(step, shard.number):
                with self._turn(step, shard):
                    act(shard)

    def by_turns(self, step: str, act: Callable[[Shard], Parts]) -> Parts:
        """The same of what may be broken off after each of its parts."""
        for shard in list(self.shards.values()):
            yield from self.by_parts(step, shard, act)

    def by_parts(self, step: str, shard: Shard, act: Callable[[Shard], Parts]) -> Parts:
        """With one shard, until it is lost."""
        if not self.setbacks.holds_up(step, shard.number):
            with self._turn(step, shard), closing(act(shard)) as parts:
                for _ in parts:
                    yield
                    if self.shards.get(shard.number) is not shard:
                        break

    @contextmanager
    def _turn(self, step: str, shard: Shard) -> Iterator[None]:
        try:
            yield
        except StoreError:
            self._put_last(shard)
            raise
        except Exception as error:  # noqa: BLE001 (the edge of a shard: a fault in one must not stop the others)
            self._put_last(shard)
            self.setbacks.failed(step, shard.number, error)
            _log.exception("failed", extra={"action": f"step.{step}", "shard": shard.number})
        else:
            self.setbacks.went_well(step, shard.number)

    def _put_last(self, shard: Shard) -> None:
        with self.lock:
            if self.shards.get(shard.number) is shard:
                others = {number: each for number, each in self.shards.items() if each is not shard}
                self.shards = {**others, shard.number: shard}

    def pin_shard_count(self) -> None:
        """Check that the fleet has as many shards as this node thinks. Raises ShardCountPinned, StoreError."""
        pinned = self.ports.fleet.pin_shard_count(self.settings.shard_count)
        if pinned != self.settings.shard_count:
            raise ShardCountPinned(configured=self.settings.shard_count, pinned=pinned)

    @property
    def may_dispatch(self) -> bool:
        """Trusted, its clock is right, and the brake is off."""
        return self.moment() is not None

    def moment(self) -> Moment | None:
        """The time to fire by; None when this node may not."""
        clock = self.ports.clock
        now, at = clock.now(), clock.monotonic()
        if not (self._is_firing and self._trust.holds(at) and self._guard.agrees(now, at)):
            return None
        return Moment(now, at, self._guard.passed(now, at))

    @property
    def clock_agrees(self) -> bool:
        """With the store's. While it does not, nothing is fired, skipped, read or taken: nobody can tell what is late,
        due or new. Peers hear no sign of life, and those whose clocks are right take over.
        """
        return self._guard.agrees(self.ports.clock.now(), self.ports.clock.monotonic())

    @property
    def held_count(self) -> int:
        """Entries in memory."""
        return sum(shard.held_count for shard in self.shards.values())

    def lag_ms(self, now: Instant) -> int:
        """Of the shard that is furthest behind."""
        with self.lock:
            return max((shard.fires.lag_ms(now) for shard in self.shards.values()), default=0)

    def take_stock(self) -> None:
        """Of what the shards owe, which the next beat tells: that waits for no lock."""
        now = self.ports.clock.now()
        with self.lock:
            owed = {number: shard.fires.owed_since(now) for number, shard in self.shards.items()}
        self.owed_since = {number: since for number, since in owed.items() if since is not None}

    def beat_once(self) -> None:
        """Show a sign of life; read the brake and the store's clock. Raises StoreError: then trust is not extended."""
        started_at, agreed = self.ports.clock.monotonic(), self.clock_agrees
        self._beat += agreed
        settings = self.settings
        row = Node(settings.node_id, self._beat, settings.version, message.VERSION, self._started_at, self.owed_since)
        answer = self.ports.fleet.beat(row)
        answered_at = self.ports.clock.monotonic()
        if answer.store_time is not None:
            self._guard.heard(answer.store_time, asked_at=started_at, answered_at=answered_at)
        self._tell_skew()
        if agreed and self.clock_agrees:
            self._trust.beaten(started_at=started_at, answered_at=answered_at)
            self.beats += 1
        if answer.control.is_firing != self._is_firing:
            _log.warning("brake", extra={"action": "fleet.firing", "is_firing": answer.control.is_firing})
            self._is_firing = answer.control.is_firing

    def _tell_skew(self) -> None:
        now, at = self.ports.clock.now(), self.ports.clock.monotonic()
        self.skew_ms, agrees = self._guard.skew_ms(now, at), self._guard.agrees(now, at)
        if agrees != self._clock_agreed:
            _log.warning("clock", extra={"action": "clock.skew", "skew_ms": self.skew_ms, "fires": agrees})
        self._clock_agreed = agrees

    def plan_once(self) -> None:
        """Read the fleet, drop what was lost, take what nobody fires, and choose what is to be taken from a live owner:
        `arriving`. Raises StoreError.
        """
        started_at = self.ports.clock.monotonic()
        self.take_stock()
        snapshot = self.ports.fleet.snapshot()
        # All clocks may be wrong, and right again, one after the other: silence counts while one's own is right.
        agrees = self.clock_agrees
        if agrees:
            self._observer.observe(snapshot.nodes, at=started_at)
        self._drop_lost(snapshot)
        self.herds.share = len(self.shards) / self.settings.shard_count
        owners = [snapshot.lease(number).owner for number in range(self.settings.shard_count)]
        self.unowned = sum(owner not in snapshot.nodes for owner in owners)
        self._trust.epochs_read(started_at=started_at)
        if not agrees or self.settings.node_id not in snapshot.nodes:
            self.arriving = None
            return
        dead = {node_id for node_id in snapshot.nodes if self._observer.is_dead(node_id)} - {self.settings.node_id}
        me, shard_count = self.settings.node_id, self.settings.shard_count
        planned = plan(snapshot, me=me, holding=self.shards.keys(), dead=dead, shard_count=shard_count)
        self.arriving = self._choose(planned.balance)
        self._take_all(planned.orphans)
        for node_id in dead:
            if self._observer.silent_ms(node_id) > 10 * self.settings.timing.dead_ms:
                self.ports.fleet.remove_node(node_id)

    def _choose(self, seen: Lease | None) -> Shard | None:
        """What is being loaded goes on, unless it has another owner now."""
        known = self.arriving
        if seen is None or known is None:
            return None if seen is None else self._shard(seen)
        is_same = (known.lease.shard, known.lease.owner, known.lease.epoch) == (seen.shard, seen.owner, seen.epoch)
        return known if is_same else self._shard(seen)

    def _take_all(self, orphans: Collection[Lease]) -> None:
        """Raises StoreError: the one that could not be taken comes last at the next plan."""
        self.setbacks.keep("take", {seen.shard for seen in orphans})
        for seen in sorted(orphans, key=lambda lease: lease.shard == self._hard_to_take):
            if self.setbacks.holds_up("take", seen.shard):
                continue
            shard = self._shard(seen)
            try:
                with self._turn("take", shard):
                    self._take(shard)
            except StoreError:
                self._hard_to_take = seen.shard
                raise

    def take_loaded(self, shard: Shard) -> None:
        """From its live owner, unless the plan has changed meanwhile. Raises StoreError."""
        if self.arriving is shard:
            self.arriving = None
            self._take(shard)

    def _shard(self, seen: Lease) -> Shard:
        return Shard(seen, self.settings.timing, self.ports.clock.now(), herds=self.herds)

    def _drop_lost(self, snapshot: FleetSnapshot) -> None:
        for number, shard in list(self.shards.items()):
            stored = snapshot.lease(number)
            # The epoch would say no more: what was another's meanwhile is not taken again before it was dropped here.
            if stored.owner != shard.lease.owner:
                self.lose(number, stored)

    def lose(self, number: int, stored: Lease | None) -> None:
        with self.lock:
            if self.shards.pop(number, None) is None:
                return
            self.setbacks.forget(number)
            for let_go in self.on_lost:
                let_go(number)
        owner = stored.owner if stored else None
        _log.info("lost", extra={"action": "shard.lose", "shard": number, "owner": owner})

    def _take(self, shard: Shard) -> None:
        seen = shard.lease
        lease = self.ports.fleet.take(seen, owner=self.settings.node_id)
        if lease is None:
            return
        with self.lock:
            shard.taken(lease)
            self.shards[lease.shard] = shard
        _log.info(
            "took", extra={"action": "shard.take", "shard": lease.shard, "epoch": lease.epoch, "from": seen.owner}
        )

    def give_up(self, shard: Shard) -> None:
        """Leave it without an owner, so that the next one need not wait for silence. Raises StoreError."""
        self.ports.fleet.disown(shard.lease)
        self.lose(shard.number, None)
