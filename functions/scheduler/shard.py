"""One owned shard in memory: its entries, their next slots in a timing wheel, and what is not settled yet.

No I/O and no clock: a node feeds it with entries and time, and carries out what it asks for. The rules are those of
design section 3; `absorb` is the take-over rule, `expire` the tick, `settle` and `safe_watermark` the watermark
(`unsettled.py` holds what is in flight, `coverage.py` what was read).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from functions.scheduler.aside import Aside
from functions.scheduler.coverage import NEVER, Coverage, Reading
from functions.scheduler.due import Due, fire_at_of
from functions.scheduler.firing import fire
from functions.scheduler.herds import Herds
from functions.scheduler.recall import Recall
from functions.scheduler.resident import Resident, key_of, resident_of
from functions.scheduler.unsettled import Unsettled
from functions.scheduler.wheel import TimingWheel
from shared.domain.entry import Entry, first_unsettled
from shared.domain.fleet import Lease
from shared.domain.instants import SECOND, Instant
from shared.domain.keys import EntryKey, schedule_of
from shared.domain.run import RunKind
from shared.domain.schedules import fire_at, next_slot
from shared.domain.timing import Timing
from shared.ports import StoredEntry

#: After this the wheel has overlooked a timer.
OVERLOOKED_MS = 60 * SECOND


@dataclass(slots=True)
class Shard:
    """What a node knows of a shard it owns."""

    lease: Lease
    timing: Timing
    started_at: Instant
    coverage: Coverage = field(default_factory=Coverage)
    aside: Aside = field(default_factory=Aside)
    herds: Herds = field(default_factory=Herds)
    #: Entries that fire up to here were looked for before their sweep.
    looked_until: Instant = Instant(0)
    #: For `tidy_once`: entries to delete, to move, and those whose last slot no worker had: none ends their job.
    to_delete: dict[str, None] = field(default_factory=dict)
    to_move: dict[str, Instant] = field(default_factory=dict)
    exhausted: list[Entry] = field(default_factory=list)
    #: An entry whose next slot is further away waits in the table. Shrinks when memory runs short.
    residency_ms: int = field(init=False)
    _wheel: TimingWheel = field(init=False)
    #: By `key_of`, as are the wheel, `_fresh`, `_leaving` and `_decided_until`.
    _residents: dict[str, Resident] = field(default_factory=dict)
    #: What becomes of an entry once everything of it is settled: deleted (None) or moved to this instant.
    _leaving: dict[str, Instant | None] = field(default_factory=dict)
    _tombstones: dict[str, Entry] = field(default_factory=dict)
    _fresh: dict[str, None] = field(default_factory=dict)
    _unsettled: Unsettled = field(init=False)
    #: Where the misfire policy has decided: not each slot up to here has a run.
    _decided_until: dict[str, Instant] = field(default_factory=dict)
    #: Before the first load another owner fired, whose decisions are not known.
    _fires_since: Instant = NEVER
    #: The table was read since the shard was taken: of a shard loaded before, the last owner has met more since.
    _is_caught_up: bool = True

    def __post_init__(self) -> None:
        self.residency_ms = self.timing.residency_ms
        self._wheel = TimingWheel(start_ms=self.started_at)
        self._unsettled = Unsettled(drained_until=self.lease.watermark)

    @property
    def number(self) -> int:
        return self.lease.shard

    @property
    def resident_count(self) -> int:
        return len(self._residents)

    @property
    def unsettled_count(self) -> int:
        return len(self._unsettled)

    @property
    def held_count(self) -> int:
        """What the entries in memory weigh, those on their way back to the table included."""
        return len(self._residents) + len(self.to_move)

    @property
    def resident_keys(self) -> list[str]:
        return list(self._residents)

    def next_tick(self, now: Instant) -> Instant | None:
        """When `expire` has something to do: `now` for at once, None when nothing waits."""
        due = self._wheel.next_due(now + self.timing.lead_ms)
        return None if due is None else Instant(due - self.timing.lead_ms)

    def lag_ms(self, now: Instant) -> int:
        """How long ago the oldest slot was due that is not settled, or the wheel was last found drained."""
        return self._unsettled.lag_ms(now, lead_ms=self.timing.lead_ms)

    def owed_since(self, now: Instant) -> Instant | None:
        """Since when the oldest slot is due that is not settled; None when all that is due is. While nobody looks into
        the wheel, such as under the brake, it may say too early an instant.
        """
        looked_at = Instant(now - self.timing.lead_ms)
        if self.next_tick(looked_at) == looked_at:
            return Instant(now - self.lag_ms(now))
        oldest = self._unsettled.oldest()
        return oldest if oldest is not None and oldest <= now else None

    def taken(self, lease: Lease) -> None:
        """Owned from now on; no watermark until the table was read once more."""
        self.lease = lease
        self._is_caught_up = False

    # Reading ---------------------------------------------------------------------------------------------------------

    def needs_load(self, now: Instant) -> bool:
        return self.coverage.needs_load(now, every_ms=self.timing.load_ms)

    def begin_read(self, now: Instant) -> Reading:
        """Before a load or sweep reads. What left memory, and the table knows of it, will be read as it is now."""
        return self.coverage.begin_read(now, self.to_delete, self.to_move)

    def end_load(self, reading: Reading, *, until: Instant) -> None:
        """It has read everything with next_at <= until."""
        self._is_caught_up = True
        self._fires_since = min(self._fires_since, reading.started_at)
        self.coverage.loaded(reading, until=until)
        self.aside.loaded(reading.started_at, moving=self.to_move)

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
        if self._is_resident(entry) or (reading is not None and entry.entry_id in reading.gone):
            return
        # First of all: what cannot be used must change nothing either.
        slot = first_unsettled(entry, self.lease.watermark)
        self.aside.take_back(entry.entry_id)
        if not self._supersedes(entry):
            return
        if entry.is_tombstone:
            self._tombstones[entry.job_key] = entry
            return
        if slot is not None and entry.next_at >= fire_at_of(entry, slot) > now + self.residency_ms:
            # It lies where it belongs, and is read again when its time is near.
            self.coverage.without(entry.next_at)
            return
        resident = resident_of(entry, slot)
        if entry.fresh:
            self._fresh[resident.key] = None
        self._place(resident, now)

    def set_aside(self, entry: StoredEntry, now: Instant) -> bool:
        """It cannot be used: whether that was not known. Nothing of it is lost, for it stays in the table, and is
        parked there, fresh, where the watermark spoke for it until now.
        """
        named = schedule_of(entry.entry_id)
        known = None if named is None else self._residents.get(named[0])
        if named is not None and known is not None and known.generation < named[1]:
            # Its job was changed, so that what is known of it is not to be fired any more.
            self._drop(known)
        if entry.is_spoken_for:
            self._leave_for(entry.entry_id, Instant(max(entry.next_at, self.lease.watermark + 1)))
        return self.aside.put(entry.entry_id, now)

    def _is_resident(self, entry: Entry) -> bool:
        return self._resident(entry) is not None

    def _resident(self, entry: Entry) -> Resident | None:
        """This very entry, in memory."""
        resident = self._residents.get(key_of(entry))
        return resident if resident is not None and resident.generation == entry.generation else None

    def _supersedes(self, entry: Entry) -> bool:
        """Drop what is known of an older generation of the job; False when `entry` itself is the older one."""
        if entry.schedule is None and entry.is_single:
            return True
        tombstone, known = self._tombstones.get(entry.job_key), self._residents.get(entry.job_key)
        others = [each.generation for each in (tombstone, known) if each is not None]
        if any(generation > entry.generation for generation in others):
            return False
        if known is not None:
            self._drop(known)
        if not entry.is_tombstone:
            self._tombstones.pop(entry.job_key, None)
        return True

    def _drop(self, resident: Resident) -> None:
        """Forget the entry. What is in flight of it stays unsettled until its answer is known."""
        key = resident.key
        self._wheel.cancel(key)
        for kept in (self._fresh, self._leaving, self._decided_until, self._residents):
            kept.pop(key, None)
        self.coverage.left(resident.entry_id)

    def _place(self, resident: Resident, now: Instant) -> None:
        """The next slot goes into the wheel; an entry with a far one, or none, goes back to the table."""
        due = None if resident.slot is None else _fire_at(resident, resident.slot)
        self._residents[resident.key] = resident
        if due is not None and due - now <= self.residency_ms:
            earlier_ms = self.herds.earlier_ms(due, resident.rest.lane, now)
            self._wheel.schedule(resident.key, due - earlier_ms if earlier_ms else due)
            # Read late, perhaps on a later page of a load, when the wheel had been drained past it.
            self._unsettled.met(due)
            return
        resident.slot = None
        self._leaving[resident.key] = due
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

    def expire(self, now: Instant, *, limit: int) -> list[Due]:
        """The slots whose dispatch is due (fire_at - lead <= now), unsettled from here on; at most `limit` timers."""
        dues: list[Due] = []
        # The wheel knows when slots fire, so that an instant in it is the slot's own.
        due_until = now + self.timing.lead_ms
        while limit > 0:
            popped = self._wheel.expire(due_until, limit=limit)
            if not popped:
                # An empty answer alone proves nothing: the wheel opens a crowded bucket by parts. And only now nothing
                # due is left, since an entry that was popped may have had a next slot that is late as well.
                if self._wheel.next_due(due_until) != due_until:
                    self._unsettled.drained_until = Instant(due_until)
                break
            limit -= len(popped)
            for key, _ in popped:
                resident = self._residents[key]
                assert resident.slot is not None
                dues.extend(self._fire(resident, resident.slot, now))
        return dues

    def _fire(self, resident: Resident, slot: Instant, now: Instant) -> list[Due]:
        fired = fire(resident.entry, slot, now)
        if fired.is_decided:
            self._decided_until[resident.key] = fired.last
        for due in fired.dues:
            self._unsettled.add(due)
        resident.unsettled += len(fired.dues)
        schedule = None if resident.is_single else resident.schedule
        resident.slot = None if schedule is None else next_slot(schedule, fired.last)
        self._place(resident, now)
        return fired.dues

    def settle(self, due: Due, *, by_row: bool = False) -> None:
        """SQS accepted the slot, or its row is written (`by_row`): then no worker will end it, nor its job."""
        if by_row and due.is_last:
            self.exhausted.append(due.entry)
        if due.is_resent:
            return
        if not self._unsettled.settle(due):
            return
        resident = self._resident(due.entry)
        if resident is None:
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

    # Looking back ----------------------------------------------------------------------------------------------------

    def recalls(self, due: Due) -> bool:
        """Whether `recall` will name this slot: then it need not be remembered."""
        resident = self._resident(due.entry)
        if resident is None or due.kind is RunKind.CATCH_UP:
            return False
        since = self._recalled_since(resident)
        return since is not None and due.slot >= since

    def recall(self, keys: list[str]) -> list[Recall]:
        """What these entries say about the past, of those that are in memory and recurring."""
        asked = {each.entry_id: each for key in keys if (each := self._residents.get(key)) is not None}
        unsettled = self._unsettled.slots_of(asked)
        recalls = (self._recall(each, frozenset(unsettled[entry_id])) for entry_id, each in asked.items())
        return [recall for recall in recalls if recall is not None]

    def _recall(self, resident: Resident, unsettled: frozenset[Instant]) -> Recall | None:
        since = self._recalled_since(resident)
        if since is None or resident.slot is None:
            return None
        return Recall(resident.entry, since, resident.slot, unsettled)

    def _recalled_since(self, resident: Resident) -> Instant | None:
        if resident.slot is None or resident.is_single:
            return None
        since = resident.from_at
        if resident.misfire.grace_ms is not None:
            since = max(since, self._fires_since)
        decided_until = self._decided_until.get(resident.key)
        return since if decided_until is None else max(since, Instant(decided_until + 1))

    def wake(self, recall: Recall, now: Instant) -> bool:
        """Whether the wheel kept the next slot although it was drained past it: a bug, which must not cost the slot."""
        due_at = fire_at_of(recall.entry, recall.before)
        is_overlooked = due_at + OVERLOOKED_MS < min(self._unsettled.drained_until, now)
        if is_overlooked:
            self._wheel.schedule(key_of(recall.entry), due_at)
        return is_overlooked

    # Watermark -------------------------------------------------------------------------------------------------------

    def safe_watermark(self) -> Instant | None:
        """What the watermark may be raised to; None: to nothing now.

        Not while the table was not read since the shard was taken: an entry that only the last owner had met may lose
        its `fresh` by a late call of his, and W would speak for it. Nor while a job whose last slot no worker had is to
        be ended: who dies before that leaves it to the next owner.
        """
        if self.coverage.loaded_at is None or not self._is_caught_up or self.exhausted:
            return None
        return self._unsettled.safe_watermark(read_until=self.coverage.until, stored=self.lease.watermark)

    def ask(self, watermark: Instant) -> Lease:
        """What to make durable."""
        self._unsettled.asked(watermark)
        return replace(self.lease, watermark=watermark)

    def checkpointed(self, lease: Lease) -> list[EntryKey]:
        """The watermark is durable: from now on it speaks for these entries, which are to be marked not fresh."""
        self.lease = lease
        self._unsettled.checkpointed()
        # In flight before the watermark: met, and fired, while the checkpoint was on its way.
        pinned = self._unsettled.entries_until(lease.watermark)
        fresh = [self._residents[key] for key in self._fresh]
        settled = [each for each in fresh if self._is_behind(each, lease.watermark) and each.entry_id not in pinned]
        return [EntryKey(self.number, each.entry_id) for each in settled]

    def _is_behind(self, resident: Resident, watermark: Instant) -> bool:
        """The entry fired, and its next slot in the wheel lies behind the watermark."""
        if not resident.is_fresh or resident.next_at > watermark:
            return False
        return resident.slot is None or _fire_at(resident, resident.slot) > watermark

    def cleared_fresh(self, keys: list[EntryKey]) -> None:
        """The table says so of these entries, so the watermark is all that matters of them from now on."""
        cleared = {key.entry_id for key in keys}
        for key in [key for key in self._fresh if self._residents[key].entry_id in cleared]:
            self._residents[key].is_fresh = False
            del self._fresh[key]


def _fire_at(resident: Resident, slot: Instant) -> Instant:
    """As `fire_at_of` its entry, which need not be made for it."""
    if isinstance(resident.rest, Entry):
        return fire_at_of(resident.rest, slot)
    assert resident.schedule is not None
    return fire_at(resident.schedule, resident.key, slot)
