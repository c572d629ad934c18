"""The slots of a shard that are on their way to a lane, and how far its wheel was drained: no watermark passes them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from functions.scheduler.due import Due, Flight, flight_of
from shared.domain.instants import Instant


@dataclass(slots=True)
class Unsettled:
    """What memory says of the watermark. How much of the table is in memory is for `Coverage` to say."""

    #: All that fires up to here was popped from the wheel.
    drained_until: Instant
    #: When each of them fires.
    _fire_at: dict[Flight, Instant] = field(default_factory=dict)
    #: Since the last checkpoint.
    _has_settled: bool = False
    #: The highest watermark ever asked for: whatever became of the answer, it may be what is stored.
    _asked: Instant = Instant(0)

    def __len__(self) -> int:
        return len(self._fire_at)

    def met(self, due_at: Instant) -> None:
        """A timer for this instant is in the wheel, which may have been drained past it: until it is popped the
        watermark must not pass it.
        """
        self.drained_until = min(self.drained_until, Instant(due_at - 1))

    def add(self, due: Due) -> None:
        self._fire_at[flight_of(due)] = due.fire_at

    def settle(self, due: Due) -> bool:
        """Whether the slot was waited for: not one that was sent before this shard was lost and taken again."""
        if self._fire_at.pop(flight_of(due), None) is None:
            return False
        self._has_settled = True
        return True

    def lag_ms(self, now: Instant, *, lead_ms: int) -> int:
        """How long ago the oldest of them was due, or the wheel was last found drained."""
        return max(0, now - min(self._fire_at.values(), default=now), now - (self.drained_until - lead_ms))

    def oldest(self) -> Instant | None:
        """When the first of them fires."""
        return min(self._fire_at.values(), default=None)

    def slots_of(self, entry_ids: Collection[str]) -> dict[str, set[Instant]]:
        """By entry, empty for one that has none."""
        found: dict[str, set[Instant]] = {entry_id: set() for entry_id in entry_ids}
        for entry_id, slot, _ in self._fire_at:
            if entry_id in found:
                found[entry_id].add(slot)
        return found

    def entries_until(self, until: Instant) -> set[str]:
        """The entries of those that fire up to here."""
        return {entry_id for (entry_id, _, _), due_at in self._fire_at.items() if due_at <= until}

    def safe_watermark(self, *, read_until: Instant, stored: Instant) -> Instant | None:
        """Just before the oldest of them, as far as the wheel was drained and the table was read.

        None when nothing settled since the last checkpoint, or it is not above what may be `stored`.
        """
        if not self._has_settled:
            return None
        oldest = min(self._fire_at.values(), default=None)
        reached = min(self.drained_until, read_until)
        safe = reached if oldest is None else min(reached, oldest - 1)
        # Not below what was asked before. An entry met since may pin W below it, and if it is what is stored, a lower
        # one would seem durable and speak for slots of that entry that W has passed.
        return Instant(safe) if safe > max(stored, self._asked) else None

    def asked(self, watermark: Instant) -> None:
        """This watermark is on its way to the table."""
        self._asked = watermark

    def checkpointed(self) -> None:
        """It is durable: there is nothing to say until something more settles."""
        self._has_settled = False
