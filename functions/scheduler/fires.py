"""The fires of a shard, from the timer to the answer of a queue: what waits in the wheels, what was missed, and what is
in flight. Which entries there are is for `Shard` to say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.scheduler.aside import AGAIN_MS
from functions.scheduler.due import Due, fire_at_of
from functions.scheduler.firing import decide, dispatch, missed_until
from functions.scheduler.overdue import Overdue, Stretch
from functions.scheduler.resident import Resident
from functions.scheduler.room import Room
from functions.scheduler.unsettled import Unsettled
from functions.scheduler.wheels import Wheels
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.schedules import fire_at, next_slot


@dataclass(slots=True)
class Fires:
    wheels: Wheels
    unsettled: Unsettled
    lead_ms: int
    overdue: Overdue = field(default_factory=Overdue)
    #: What could not be fired, for the log.
    failures: list[tuple[str, Exception]] = field(default_factory=list)
    #: By `key_of`: up to here the misfire policy decides, so that not each slot has a run.
    decided_until: dict[str, Instant] = field(default_factory=dict)
    #: Taken from the wheels, and not handed out yet.
    _taken: list[Due] = field(default_factory=list)

    def hand_out(self) -> list[Due]:
        taken, self._taken = self._taken, []
        return taken

    def take_failures(self) -> list[tuple[str, Exception]]:
        """What could not be fired since they were last asked for, by entry."""
        failures, self.failures = self.failures, []
        return failures

    def forget(self, resident: Resident) -> None:
        """Nothing more of it is fired; what is in flight of it stays unsettled until its answer is known."""
        self.wheels.cancel(resident.lane, resident.key)
        self.decided_until.pop(resident.key, None)

    def fire(self, resident: Resident, now: Instant, room: Room, *, passed: Instant) -> Instant | None:
        """Its slot is due: take it, and say when the next one fires. What raises has taken nothing."""
        slot = resident.slot
        assert slot is not None
        entry = resident.entry
        due, last = dispatch(entry, slot), missed_until(entry, slot, now, passed=passed)
        schedule = None if resident.is_single else resident.schedule
        following = None if schedule is None else next_slot(schedule, slot if last is None else last)
        next_due = None if following is None else fires_at(resident, following)
        # All is decided, so that nothing can go wrong between taking the slot and recording it.
        if last is None:
            self._take(due, room)
        else:
            room.work()
            self.decided_until[resident.key] = last
            self.overdue.put(Stretch(due.fire_at, resident.key, slot, last, resident))
        resident.unsettled += 1
        resident.slot = following
        return next_due

    def _take(self, due: Due, room: Room) -> None:
        room.take(due)
        self.unsettled.add(due)
        self._taken.append(due)

    def catch_up(self, now: Instant, room: Room) -> None:
        """The misfire policies decide over what was missed, as far as there is room for what they say."""
        self.overdue.wake(now)
        for lane in self.overdue.lanes:
            while room.of(lane) > 0 and room.rows > 0 and (stretch := self.overdue.take(lane)) is not None:
                self._decide(stretch, now, room)

    def _decide(self, stretch: Stretch, now: Instant, room: Room) -> None:
        resident = stretch.resident
        try:
            dues = decide(resident.entry, stretch.first, stretch.last)
        except Exception as error:  # noqa: BLE001 (kept for the log: the others are to be decided)
            self.failures.append((resident.entry_id, error))
            self.overdue.put_off(stretch, Instant(now + AGAIN_MS))
            return
        for due in dues:
            self._take(due, room)
        resident.unsettled += len(dues) - 1

    # What the watermark waits for ------------------------------------------------------------------------------------

    def next_tick(self, now: Instant) -> Instant | None:
        """When there is something to do: `now` for at once, None when nothing waits."""
        if self.overdue:
            return now
        due = self.wheels.next_due(Instant(now + self.lead_ms))
        return None if due is None else Instant(due - self.lead_ms)

    def lag_ms(self, now: Instant) -> int:
        """How long ago the oldest slot was due that is not settled, or the wheels were last found drained."""
        oldest = self.overdue.oldest
        lag_ms = self.unsettled.lag_ms(now, lead_ms=self.lead_ms)
        return lag_ms if oldest is None else max(lag_ms, now - oldest)

    def owed_since(self, now: Instant) -> Instant | None:
        """Since when the oldest slot is due that is not settled; None when all that is due is. While nobody looks into
        the wheels, such as under the brake, it may say too early an instant.
        """
        looked_at = Instant(now - self.lead_ms)
        if self.next_tick(looked_at) == looked_at:
            return Instant(now - self.lag_ms(now))
        oldest = self.unsettled.oldest()
        return oldest if oldest is not None and oldest <= now else None

    def safe_watermark(self, *, read_until: Instant, stored: Instant) -> Instant | None:
        oldest = self.overdue.oldest
        reached = read_until if oldest is None else min(read_until, Instant(oldest - 1))
        return self.unsettled.safe_watermark(read_until=reached, stored=stored)

    def entries_until(self, until: Instant) -> set[str]:
        """The entries of which something is unsettled that fires up to here."""
        return self.unsettled.entries_until(until) | self.overdue.entries_until(until)


def fires_at(resident: Resident, slot: Instant) -> Instant:
    """As `fire_at_of` its entry, which need not be made for it."""
    if isinstance(resident.rest, Entry):
        return fire_at_of(resident.rest, slot)
    assert resident.schedule is not None
    return fire_at(resident.schedule, resident.key, slot)
