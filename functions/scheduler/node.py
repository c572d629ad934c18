"""A scheduler node: every loop is one public step here, so that a test drives a node by hand.

Threads call the steps (`runner.py`); a lock guards what is in memory and is never held across a call to a port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from threading import RLock

from functions.scheduler.audit import Auditor, Look
from functions.scheduler.capacity import residency_at
from functions.scheduler.counts import Counts
from functions.scheduler.membership import Observer, Trust
from functions.scheduler.outbox import BATCH, Outbox
from functions.scheduler.planning import plan
from functions.scheduler.rows import dispatch_of, refused_row, skipped_row
from functions.scheduler.settings import Ports, Settings, ShardCountPinned, Spread, in_order
from functions.scheduler.shard import Due, Shard
from shared.domain import message
from shared.domain.entry import Entry
from shared.domain.errors import StoreError
from shared.domain.fleet import FleetSnapshot, Lease
from shared.domain.fleet import Node as Member
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey
from shared.domain.run import Run
from shared.observability.logs import logger_for
from shared.ports import Completion, SendReport

_log = logger_for("scheduler")

#: How many timers one tick takes from a shard's wheel, so that no step takes long.
TICK_LIMIT = 1_000
#: How many entries of a shard one turn moves, each by a call of its own, so that the other steps get theirs.
MOVES_AT_ONCE = 50


@dataclass(slots=True)
class Node:
    """Fires the shards it owns. Single steps may run in different threads; no step runs in two at once."""

    ports: Ports
    settings: Settings
    spread: Spread = in_order
    shards: dict[int, Shard] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    #: As of the last beat and the last plan, for metrics.
    beats: int = 0
    skew_ms: int = 0
    unowned: int = 0
    _trust: Trust = field(init=False)
    _observer: Observer = field(init=False)
    _outbox: Outbox = field(init=False)
    _auditor: Auditor = field(init=False)
    _told: Counts = field(default_factory=Counts)
    #: Rows that settle their slot once they are written: skipped gaps and refused dispatches.
    _rows: list[tuple[Due, Run]] = field(default_factory=list)
    _beat: int = 0
    _is_firing: bool = True
    _is_skewed: bool = False
    _started_at: Instant = field(init=False)
    _lock: RLock = field(default_factory=RLock)

    def __post_init__(self) -> None:
        timing = self.settings.timing
        timing.check()
        self._trust = Trust(timing.trust_ms)
        self._observer = Observer(timing.dead_ms, longest_step_ms=timing.plan_ms * 3 // 2)
        self._outbox = Outbox(timing.lead_ms / 3_000, self.settings.catch_up_per_second)
        self._auditor = Auditor(self.settings.audit, self.counts)
        self._started_at = self.ports.clock.now()

    def start(self) -> None:
        """Check that the fleet has as many shards as this node thinks. Raises ShardCountPinned, StoreError."""
        pinned = self.ports.fleet.pin_shard_count(self.settings.shard_count)
        if pinned != self.settings.shard_count:
            raise ShardCountPinned(configured=self.settings.shard_count, pinned=pinned)

    @property
    def may_dispatch(self) -> bool:
        """Trusted, and the brake is off."""
        return self._is_firing and self._trust.holds(self.ports.clock.monotonic())

    def lag_ms(self, now: Instant) -> int:
        """Of the shard that is furthest behind."""
        with self._lock:
            return max((shard.lag_ms(now) for shard in self.shards.values()), default=0)

    # Membership ------------------------------------------------------------------------------------------------------

    def beat_once(self) -> None:
        """Show a sign of life; read the brake and the store's clock. Raises StoreError: then trust is not extended."""
        started_at = self.ports.clock.monotonic()
        self._beat += 1
        settings = self.settings
        member = Member(settings.node_id, self._beat, settings.version, message.VERSION, self._started_at)
        answer = self.ports.fleet.beat(member)
        self._trust.beaten(started_at=started_at, answered_at=self.ports.clock.monotonic())
        self.beats += 1
        if answer.control.is_firing != self._is_firing:
            _log.warning("brake", extra={"action": "fleet.firing", "is_firing": answer.control.is_firing})
            self._is_firing = answer.control.is_firing
        self._guard_clock(answer.store_time)

    def _guard_clock(self, store_time: Instant | None) -> None:
        if store_time is None:
            return
        skew_ms = self.ports.clock.now() - store_time
        self.skew_ms = skew_ms
        is_skewed = abs(skew_ms) > self.settings.timing.clock_guard_ms
        if is_skewed != self._is_skewed:
            _log.warning("clock", extra={"action": "clock.skew", "skew_ms": skew_ms, "takes_shards": not is_skewed})
        self._is_skewed = is_skewed

    def plan_once(self) -> None:
        """Read the fleet, drop what was lost, take what is due to this node. Raises StoreError."""
        started_at = self.ports.clock.monotonic()
        snapshot = self.ports.fleet.snapshot()
        self._observer.observe(snapshot.nodes, at=started_at)
        self._drop_lost(snapshot)
        owners = [snapshot.lease(number).owner for number in range(self.settings.shard_count)]
        self.unowned = sum(owner not in snapshot.nodes for owner in owners)
        self._trust.epochs_read(started_at=started_at)
        if self._is_skewed or self.settings.node_id not in snapshot.nodes:
            return
        dead = {node_id for node_id in snapshot.nodes if self._observer.is_dead(node_id)} - {self.settings.node_id}
        me, shard_count = self.settings.node_id, self.settings.shard_count
        planned = plan(snapshot, me=me, holding=self.shards.keys(), dead=dead, shard_count=shard_count)
        for seen in planned.orphans:
            self._take(Shard(seen, self.settings.timing, self.ports.clock.now()))
        if planned.balance is not None:
            # Loaded before it is taken, so that its slots do not pause.
            shard = Shard(planned.balance, self.settings.timing, self.ports.clock.now())
            self._load(shard)
            self._take(shard)
        for node_id in dead:
            if self._observer.silent_ms(node_id) > 10 * self.settings.timing.dead_ms:
                self.ports.fleet.remove_node(node_id)

    def _drop_lost(self, snapshot: FleetSnapshot) -> None:
        for number, shard in list(self.shards.items()):
            stored = snapshot.lease(number)
            if (stored.owner, stored.epoch) != (shard.lease.owner, shard.lease.epoch):
                self._lose(number, stored)

    def _lose(self, number: int, stored: Lease | None) -> None:
        with self._lock:
            if self.shards.pop(number, None) is None:
                return
            self._outbox.drop_shard(number)
            self._auditor.drop_shard(number)
            self._rows = [(due, row) for due, row in self._rows if due.shard != number]
        owner = stored.owner if stored else None
        _log.info("lost", extra={"action": "shard.lose", "shard": number, "owner": owner})

    def _take(self, shard: Shard) -> None:
        seen = shard.lease
        lease = self.ports.fleet.take(seen, owner=self.settings.node_id)
        if lease is None:
            return
        with self._lock:
            shard.taken(lease)
            self.shards[lease.shard] = shard
        _log.info(
            "took", extra={"action": "shard.take", "shard": lease.shard, "epoch": lease.epoch, "from": seen.owner}
        )

    # Reading ---------------------------------------------------------------------------------------------------------

    def load_once(self) -> None:
        """Load each shard that needs it. Raises StoreError: the rest comes next time."""
        for shard in list(self.shards.values()):
            if shard.needs_load(self.ports.clock.now()):
                self._load(shard)

    def _load(self, shard: Shard) -> None:
        started_at = self.ports.clock.now()
        with self._lock:
            self._adapt(shard)
            gone = shard.begin_read()
        until = Instant(started_at + min(self.settings.timing.horizon_ms, shard.residency_ms))
        for page in self.ports.entries.due(shard.number, since=Instant(0), until=until):
            self._absorb(shard, page)
            if self._held >= self.settings.most_residents:
                # The rest stays in the table. Of the last instant there may be more on the next page.
                until = Instant(page[-1].next_at - 1)
                _log.warning("full", extra={"action": "shard.load", "shard": shard.number, "until": until})
                break
        with self._lock:
            shard.end_load(gone, started_at=started_at, until=until)
        _log.debug("loaded", extra={"action": "shard.load", "shard": shard.number, "entries": shard.resident_count})

    def sweep_once(self) -> None:
        """Read what the API wrote since the last sweep. Raises StoreError: a shard's next sweep looks back further."""
        timing = self.settings.timing
        for shard in list(self.shards.values()):
            if shard.swept_at is None:
                continue
            started_at = self.ports.clock.now()
            with self._lock:
                gone = shard.begin_read()
            since = Instant(min(shard.swept_at, started_at) - timing.margin_ms)
            until = Instant(started_at + timing.sweep_ahead_ms)
            for page in self.ports.entries.due(shard.number, since=since, until=until):
                self._absorb(shard, page)
            with self._lock:
                shard.end_sweep(gone, started_at=started_at, since=since, until=until)

    def _absorb(self, shard: Shard, page: list[Entry]) -> None:
        now = self.ports.clock.now()
        with self._lock:
            self._adapt(shard)
            for entry in page:
                shard.absorb(entry, now)

    @property
    def _held(self) -> int:
        return sum(shard.held_count for shard in self.shards.values())

    def _adapt(self, shard: Shard) -> None:
        """To how full the memory is."""
        held, most = self._held, self.settings.most_residents
        shard.residency_ms = residency_at(self.settings.timing, held=held, most=most)

    # Firing ----------------------------------------------------------------------------------------------------------

    def tick_once(self) -> None:
        """Move what is due from the wheels to the outbox; nothing when this node may not dispatch."""
        if not self.may_dispatch:
            return
        now, at = self.ports.clock.now(), self.ports.clock.monotonic()
        with self._lock:
            for shard in self.shards.values():
                dues = shard.expire(now, limit=TICK_LIMIT)
                self._outbox.put((due for due in dues if due.gap is None), at=at)
                skipped = [due for due in dues if due.gap is not None]
                self._rows += [(due, skipped_row(due, now, self.settings.run_retention_ms)) for due in skipped]
                self.counts.skipped += sum(due.gap.count for due in skipped if due.gap is not None)

    def dispatch_once(self, *, hurry: bool = False) -> int:
        """Send what waits, by tens, and settle what was accepted; answers how many were. Raises StoreError.

        `hurry` sends batches that are not full yet.
        """
        if not self.may_dispatch:
            return 0
        with self._lock:
            taken = self._outbox.take(at=self.ports.clock.monotonic(), hurry=hurry)
        batches = [
            (lane, dues[first : first + BATCH]) for lane, dues in taken.items() for first in range(0, len(dues), BATCH)
        ]
        accepted = sum(self.spread(self._send, batches))
        self._write_rows()
        return accepted

    def _send(self, batch: tuple[str, list[Due]]) -> int:
        lane, dues = batch
        at = self.ports.clock.monotonic()
        with self._lock:
            # Looked at once more: the batches before this one may have taken long, or gone wrong.
            if not self.may_dispatch or self._outbox.is_paused(lane, at):
                self._outbox.put_back(lane, dues)
                return 0
        report = SendReport()
        try:
            report = self._hand_over(lane, dues)
        finally:
            self._take_report(lane, dues, report)
        return len(report.accepted)

    def _hand_over(self, lane: str, dues: list[Due]) -> SendReport:
        queue = self.ports.queues.get(lane)
        if queue is None:
            return SendReport(refused=dict.fromkeys(range(len(dues)), f"this deployment has no lane {lane!r}"))
        with self._lock:
            self.counts.dispatched += len(dues)
            epochs = [self.shards[due.shard].lease.epoch if due.shard in self.shards else 0 for due in dues]
        now = self.ports.clock.now()
        return queue.send([dispatch_of(due, epoch, now) for due, epoch in zip(dues, epochs, strict=True)])

    def _take_report(self, lane: str, dues: list[Due], report: SendReport) -> None:
        """Only what was accepted is settled; what was refused becomes a row; the rest is sent again."""
        now, at = self.ports.clock.now(), self.ports.clock.monotonic()
        unknown = [due for index, due in enumerate(dues) if index not in report.accepted | report.refused.keys()]
        with self._lock:
            self._outbox.put_back(lane, unknown)
            self._outbox.answered(lane, is_well=len(unknown) < len(dues), at=at, dice=self.ports.randomness.fraction())
            for index, reason in report.refused.items():
                row = refused_row(dues[index], reason, now, self.settings.run_retention_ms)
                self._rows.append((dues[index], row))
            self._settle(dues[index] for index in report.accepted)
            self._remember(dues[index] for index in report.accepted)
            self.counts.accepted += len(report.accepted)
            self.counts.repeated += len(unknown)
            self.counts.refused += len(report.refused)
        if unknown or report.refused:
            counts = {"unknown": len(unknown), "refused": len(report.refused)}
            _log.warning("not sent", extra={"action": "dispatch.unsent", "lane": lane, **counts})

    def _settle(self, dues: Iterable[Due]) -> None:
        for due in dues:
            shard = self.shards.get(due.shard)
            if shard is not None:
                shard.settle(due)

    def _remember(self, dues: Iterable[Due]) -> None:
        """For the audit, where no entry in memory does."""
        now = self.ports.clock.now()
        for due in dues:
            shard = self.shards.get(due.shard)
            if shard is not None and not due.is_resent and not shard.recalls(due):
                self._auditor.accepted(due, now)

    def _write_rows(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, []
        if not rows:
            return
        try:
            self.ports.runs.record([row for _, row in rows])
        except StoreError:
            with self._lock:
                self._rows = rows + self._rows
            raise
        with self._lock:
            self._settle(due for due, _ in rows)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def tidy_once(self) -> None:
        """Delete the entries that are done with, move those that fire far ahead, end jobs whose last slot was skipped.

        Raises StoreError; what is not done is done next time, by this owner or the next one.
        """
        for shard in list(self.shards.values()):
            with self._lock:
                doomed, moving = list(shard.to_delete), dict(islice(shard.to_move.items(), MOVES_AT_ONCE))
                exhausted = list(shard.exhausted)
            for entry in exhausted:
                job = self.ports.jobs.get(entry.job_key)
                if job is not None and job.generation == entry.generation:
                    expires_at = Instant(self.ports.clock.now() + job.keep_after_completion_ms)
                    self.ports.jobs.complete([Completion(entry.job_key, entry.generation, expires_at)])
            self.ports.entries.delete([EntryKey(shard.number, entry_id) for entry_id in doomed])
            for entry_id, next_at in moving.items():
                self.ports.entries.move(EntryKey(shard.number, entry_id), next_at)
            with self._lock:
                shard.tidied(doomed, moving, exhausted)

    def checkpoint_once(self) -> None:
        """Make each watermark durable that has risen, and then mark the entries it speaks for. Raises StoreError."""
        for number, shard in list(self.shards.items()):
            with self._lock:
                watermark = shard.safe_watermark()
                lease = None if watermark is None else shard.ask(watermark)
            if lease is None:
                continue
            if not self.ports.fleet.checkpoint(lease):
                self._lose(number, None)
                continue
            with self._lock:
                settled = shard.checkpointed(lease)
            if settled:
                self.ports.entries.clear_fresh(settled)
                with self._lock:
                    shard.cleared_fresh(settled)

    # Looking back ----------------------------------------------------------------------------------------------------

    def audit_once(self) -> None:
        """Look up runs that must exist by now, and dispatch again what has none. Raises StoreError: they are looked up
        next time.
        """
        if not self.may_dispatch:
            return
        looks = self._choose_looks()
        try:
            rows = self.ports.runs.get_many([look.due.key for look in looks]) if looks else {}
        except StoreError:
            with self._lock:
                self._auditor.put_back(looks)
            raise
        with self._lock:
            again = self._auditor.judge(looks, rows, self.ports.clock.now())
            self._outbox.put(again, at=self.ports.clock.monotonic())
        self._tell()

    def _choose_looks(self) -> list[Look]:
        auditor, room = self._auditor, self.settings.audit.rows_at_once
        now = self.ports.clock.now()
        with self._lock:
            looks = auditor.take_remembered(now)
        for _ in range(self.settings.audit.times_at_once):
            if len(looks) >= room:
                break
            with self._lock:
                recalls = auditor.next_entries(self.shards, now)
            for recall in recalls:
                looks += auditor.looks_of(recall, now)
        with self._lock:
            auditor.put_back(looks[room:])
        return looks[:room]

    def _tell(self) -> None:
        """One line for what was counted since the last one."""
        with self._lock:
            added, self._told = self.counts.since(self._told), self.counts.copy()
        if added:
            is_bad = added.get("lost") or added.get("overlooked")
            (_log.error if is_bad else _log.info)("audit", extra={"action": "audit", **added})

    # Leaving ---------------------------------------------------------------------------------------------------------

    def drain(self, *, until: float) -> None:
        """Leave: send what is out, checkpoint, give all shards up; nothing is begun after `until` (monotonic).

        What fails or is left undone costs duplicates or seconds, never a slot: what was not sent is unsettled for the
        next owner, and what was not given up is taken once the beat has been silent.
        """
        done = [
            *(self._leave(step, until) for step in (self._flush, self.tidy_once, self.checkpoint_once)),
            *(self._leave(partial(self._give_up, shard), until) for shard in list(self.shards.values())),
            self._leave(partial(self.ports.fleet.remove_node, self.settings.node_id), until),
        ]
        _log.info("drained", extra={"action": "node.drain", "is_complete": all(done), "unsent": len(self._outbox)})

    def _leave(self, step: Callable[[], object], until: float) -> bool:
        if self.ports.clock.monotonic() >= until:
            return False
        try:
            step()
        except StoreError as error:
            _log.warning("store", extra={"action": "node.drain", "error": str(error)})
            return False
        return True

    def _flush(self) -> None:
        while self.dispatch_once(hurry=True) and len(self._outbox):
            pass

    def _give_up(self, shard: Shard) -> None:
        self.ports.fleet.disown(shard.lease)
        self._lose(shard.number, None)
