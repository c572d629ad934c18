"""One owned shard in memory: its entries, their next slots in a timing wheel, and what is not settled yet.

No I/O and no clock: a node feeds it with entries and time. `absorb` is the take-over rule, `expire` the tick, `settle`
and `safe_watermark` the watermark (`fires.py` holds what is due, `coverage.py` what was read).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from functions.scheduler.aside import Aside
from functions.scheduler.coverage import Coverage, Reading
from functions.scheduler.due import Due, fire_at_of
from functions.scheduler.fires import Fires
from functions.scheduler.freshness import Freshness
from functions.scheduler.herds import Herds
from functions.scheduler.past import Past
from functions.scheduler.resident import Resident, find, resident_of
from functions.scheduler.room import Room
from functions.scheduler.unreadable import Unreadable
from functions.scheduler.unsettled import Unsettled
from functions.scheduler.weights import Weights
from functions.scheduler.wheels import Wheels
from shared.domain.entry import Entry, first_unsettled
from shared.domain.fleet import Lease
from shared.domain.instants import Instant
from shared.domain.keys import EntryKey, schedule_of
from shared.domain.timing import Timing
from shared.ports import StoredEntry


@dataclass(slots=True)
class Shard:
    """What a node knows of a shard it owns."""

    lease: Lease
    timing: Timing
    started_at: Instant
    coverage: Coverage = field(default_factory=Coverage)
    unreadable: Unreadable = field(default_factory=Unreadable)
    herds: Herds = field(default_factory=Herds)
    looked_until: Instant = Instant(0)
    fires: Fires = field(init=False)
    past: Past = field(init=False)
    fresh: Freshness = field(init=False)
    #: For `tidy_once`: entries to delete, to move, and those whose last slot no worker had: none ends their job.
    to_delete: dict[str, None] = field(default_factory=dict)
    to_move: dict[str, Instant] = field(default_factory=dict)
    exhausted: list[Entry] = field(default_factory=list)
    #: An entry whose next slot is further away waits in the table. Shrinks when memory runs short.
    residency_ms: int = field(init=False)
    #: By `key_of`, as are the timers and `_leaving`.
    _residents: dict[str, Resident] = field(default_factory=dict)
    #: What becomes of an entry once everything of it is settled: deleted (None) or moved to this instant.
    _leaving: dict[str, Instant | None] = field(default_factory=dict)
    _tombstones: dict[str, Entry] = field(default_factory=dict)
    _aside: Aside = field(default_factory=Aside)
    _weights: Weights = field(default_factory=Weights)
    #: The table was read since the shard was taken: of a shard loaded before, the last owner has met more since.
    _is_caught_up: bool = True

    def __post_init__(self) -> None:
        self.residency_ms = self.timing.residency_ms
        unsettled = Unsettled(drained_until=self.lease.watermark)
        self.fires = Fires(Wheels(self.started_at), unsettled, self.timing.lead_ms)
        self.past = Past(self._residents, self.fires)
        self.fresh = Freshness(self._residents, self.fires)

    @property
    def number(self) -> int:
        return self.lease.shard

    @property
    def resident_count(self) -> int:
        return len(self._residents)

    @property
    def unsettled_count(self) -> int:
        return len(self.fires.unsettled) + len(self.fires.overdue)

    @property
    def held_count(self) -> int:
        return len(self._residents) + len(self.to_move) + self._weights.in_entries

    @property
    def resident_keys(self) -> list[str]:
        return list(self._residents)

    def taken(self, lease: Lease) -> None:
        """Owned from now on; no watermark until the table was read once more."""
        self.lease = lease
        self._is_caught_up = False

    # Reading ---------------------------------------------------------------------------------------------------------

    def needs_load(self, now: Instant) -> bool:
        return self.coverage.needs_load(now, every_ms=self.timing.load_ms) or self._aside.is_over(now)

    def begin_read(self, now: Instant) -> Reading:
        """Before a load or sweep reads. What left memory, and the table knows of it, will be read as it is now."""
        return self.coverage.begin_read(now, self.to_delete, self.to_move)

    def end_load(self, reading: Reading, *, until: Instant) -> None:
        """It has read everything with next_at <= until."""
        self._is_caught_up = True
        self.past.fires_since = min(self.past.fires_since, reading.started_at)
        self.coverage.loaded(reading, until=until)
        self._aside.loaded(reading.started_at)
        self.unreadable.loaded(reading.started_at, moving=self.to_move)

    def end_sweep(self, reading: Reading, *, since: Instant, until: Instant) -> None:
        """It has read everything with since <= next_at <= until."""
        self._is_caught_up = True
        self.coverage.swept(reading, since=since, until=until)
        for tombstone in list(self._tombstones.values()):
            if tombstone.next_at < reading.started_at - self.timing.margin_ms:
                self.to_delete[tombstone.entry_id] = None
                del self._tombstones[tombstone.job_key]

    def knows(self, entry_id: str, reading: Reading) -> bool:
        """Reading this entry would change nothing: so it need not be decoded."""
        if entry_id in reading.gone or entry_id in self._residents:
            return True
        named = schedule_of(entry_id)
        if named is None:
            return False
        key, generation = named
        tombstone, known = self._tombstones.get(key), self._residents.get(key)
        return any(each is not None and each.generation >= generation for each in (tombstone, known))

    def absorb(self, entry: Entry, now: Instant, reading: Reading | None = None) -> None:
        """Take in an entry as it was read. Meeting it again changes nothing; raises what its schedule does."""
        is_gone = reading is not None and entry.entry_id in reading.gone
        if is_gone or find(self._residents, entry) or self._aside.holds(entry, now):
            return
        # First of all: what cannot be used must change nothing either.
        slot = first_unsettled(entry, self.lease.watermark)
        due_at = None if slot is None else fire_at_of(entry, slot)
        self.unreadable.take_back(entry.entry_id)
        if not self._supersedes(entry):
            return
        if entry.is_tombstone:
            self._tombstones[entry.job_key] = entry
            return
        if due_at is not None and entry.next_at >= due_at > now + self.residency_ms:
            # It lies where it belongs, and is read again when its time is near.
            self.coverage.without(entry.next_at)
            return
        resident = resident_of(entry, slot, self._weights)
        self.fresh.met(resident)
        self._place(resident, due_at, now)

    def set_aside(self, entry: StoredEntry, now: Instant) -> bool:
        """It cannot be used: whether that was not known. It stays in the table, fresh from now on: nothing is lost."""
        named = schedule_of(entry.entry_id)
        known = None if named is None else self._residents.get(named[0])
        if named is not None and known is not None and known.generation < named[1]:
            # Its job was changed, so that what is known of it is not to be fired any more.
            self._drop(known)
        if entry.is_spoken_for:
            self._leave_for(entry.entry_id, Instant(max(entry.next_at, self.lease.watermark + 1)))
        return self.unreadable.put(entry.entry_id, now)

    def _supersedes(self, entry: Entry) -> bool:
        """Drop what is known of an older generation of the job; False when `entry` itself is the older one."""
        if entry.schedule is None and entry.is_single:
            return True
        tombstone, known = self._tombstones.get(entry.job_key), self._residents.get(entry.job_key)
        if any(each is not None and each.generation > entry.generation for each in (tombstone, known)):
            return False
        if known is not None:
            self._drop(known)
        if not entry.is_tombstone:
            self._tombstones.pop(entry.job_key, None)
        return True

    def _drop(self, resident: Resident) -> None:
        """Forget the entry. What is in flight of it stays unsettled until its answer is known."""
        key = resident.key
        self.fires.forget(resident)
        self.fresh.forget(key)
        self._leaving.pop(key, None)
        if self._residents.pop(key, None) is not None:
            self._weights.let_go(resident.schedule, is_single=resident.is_single)
        self.coverage.left(resident.entry_id)

    def _place(self, resident: Resident, due: Instant | None, now: Instant) -> None:
        """The next slot, which fires at `due`, goes into the wheel; with none, or a far one, the entry is let go."""
        self._residents[resident.key] = resident
        if due is not None and due - now <= self.residency_ms:
            earlier_ms = self.herds.earlier_ms(due, resident.lane, now)
            self.fires.wheels.schedule(resident.lane, resident.key, due - earlier_ms if earlier_ms else due)
            # Read late, perhaps on a later page of a load, when the wheel had been drained past it.
            self.fires.unsettled.met(due)
            return
        self._let_go(resident, due)

    def _let_go(self, resident: Resident, until: Instant | None) -> None:
        """It goes back to the table until then, or for good, once everything of it is settled."""
        resident.slot = None
        self._leaving[resident.key] = until
        if resident.unsettled == 0:
            self._leave(resident)

    def _leave(self, resident: Resident) -> None:
        """Everything of the entry is settled: it is deleted, or moved to where it fires next."""
        leaves_for = self._leaving[resident.key]
        self._drop(resident)
        if leaves_for is None:
            self.to_delete[resident.entry_id] = None
        else:
            self._leave_for(resident.entry_id, leaves_for)

    def _leave_for(self, entry_id: str, next_at: Instant) -> None:
        self.to_move[entry_id] = next_at
        self.coverage.without(next_at)

    # Firing ----------------------------------------------------------------------------------------------------------

    def expire(self, now: Instant, room: Room, *, passed: Instant | None = None) -> list[Due]:
        """The slots whose dispatch is due (fire_at - lead <= now), as far as there is room for them; each is unsettled
        from here on. An entry that cannot be fired is set aside, and keeps no other from its turn. What the store's
        clock has not `passed` is not missed, however late it is by this host's.
        """
        # The wheel knows when slots fire, so that an instant in it is the slot's own.
        due_until = Instant(now + self.timing.lead_ms)
        wheels = self.fires.wheels
        for lane in wheels.lanes:
            while (limit := room.of(lane)) > 0 and (popped := wheels.expire(lane, due_until, limit)):
                for key, due_at in popped:
                    self._fire(self._residents[key], Instant(due_at), now, room, now if passed is None else passed)
        self.fires.catch_up(now, room)
        # Only now: an entry that was popped may have had a next slot that is late as well, and a lane no room.
        if wheels.is_drained(due_until):
            self.fires.unsettled.drained_until = due_until
        return self.fires.hand_out()

    def _fire(self, resident: Resident, popped_at: Instant, now: Instant, room: Room, passed: Instant) -> None:
        try:
            next_due = self.fires.fire(resident, now, room, passed=passed)
        except Exception as error:  # noqa: BLE001 (kept for the log: the others are to be fired)
            self.fires.failures.append((resident.entry_id, error))
            self._put_aside(resident, popped_at, now)
        else:
            self._place(resident, next_due, now)

    def _put_aside(self, resident: Resident, due: Instant, now: Instant) -> None:
        """It goes back to the table, where W need not wait for it, and is tried again when a later read meets it."""
        self._aside.put(resident, now)
        if resident.is_single:
            self._drop(resident)
        else:
            self._let_go(resident, due)

    def settle(self, due: Due, *, by_row: bool = False) -> None:
        """SQS accepted the slot, or its row is written (`by_row`): then no worker will end it, nor its job."""
        if by_row and due.is_last:
            self.exhausted.append(due.entry)
        if due.is_resent:
            return
        was_waited_for = self.fires.unsettled.settle(due)
        resident = find(self._residents, due.entry)
        if resident is None or not was_waited_for:
            return
        resident.unsettled -= 1
        if resident.unsettled == 0 and resident.key in self._leaving:
            self._leave(resident)

    def tidied(self, doomed: list[str], moving: dict[str, Instant], exhausted: list[Entry]) -> None:
        """These are done: deleted, moved, and their jobs ended."""
        for entry_id in doomed:
            self.to_delete.pop(entry_id, None)
        for entry_id in moving:
            self.to_move.pop(entry_id, None)
        self.exhausted = self.exhausted[len(exhausted) :]

    # Watermark -------------------------------------------------------------------------------------------------------

    def safe_watermark(self) -> Instant | None:
        """What the watermark may be raised to; None: to nothing now.

        Not while the table was not read since the shard was taken: an entry that only the last owner had met may lose
        its `fresh` by a late call of his, and W would speak for it. Nor while a job whose last slot no worker had is to
        be ended: who dies before that leaves it to the next owner.
        """
        if self.coverage.loaded_at is None or not self._is_caught_up or self.exhausted:
            return None
        return self.fires.safe_watermark(read_until=self.coverage.until, stored=self.lease.watermark)

    def ask(self, watermark: Instant) -> Lease:
        """What to make durable."""
        self.fires.unsettled.asked(watermark)
        return replace(self.lease, watermark=watermark)

    def checkpointed(self, lease: Lease) -> list[EntryKey]:
        """The watermark is durable: from now on it speaks for these entries, which are to be marked not fresh."""
        self.lease = lease
        self.fires.unsettled.checkpointed()
        return [EntryKey(self.number, entry_id) for entry_id in self.fresh.behind(lease.watermark)]
