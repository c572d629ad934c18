"""What the entries in memory say of the slots that were due: for the audit."""

from __future__ import annotations

from dataclasses import dataclass

from functions.scheduler.coverage import NEVER
from functions.scheduler.due import Due, fire_at_of
from functions.scheduler.fires import Fires
from functions.scheduler.recall import Recall
from functions.scheduler.resident import Resident, find, key_of
from shared.domain.instants import SECOND, Instant
from shared.domain.run import RunKind

#: After this the wheel has overlooked a timer.
OVERLOOKED_MS = 60 * SECOND


@dataclass(slots=True)
class Past:
    #: Those of the shard.
    residents: dict[str, Resident]
    fires: Fires
    #: Before the first load another owner fired, whose decisions are not known.
    fires_since: Instant = NEVER

    def recalls(self, due: Due) -> bool:
        """Whether `recall` will name this slot: then it need not be remembered."""
        resident = find(self.residents, due.entry)
        if resident is None or due.kind is RunKind.CATCH_UP:
            return False
        since = self._known_since(resident)
        return since is not None and due.slot >= since

    def recall(self, keys: list[str]) -> list[Recall]:
        """What these entries say about the past, of those that are in memory and recurring."""
        asked = {each.entry_id: each for key in keys if (each := self.residents.get(key)) is not None}
        unsettled = self.fires.unsettled.slots_of(asked)
        recalls = (self._recall(each, frozenset(unsettled[entry_id])) for entry_id, each in asked.items())
        return [recall for recall in recalls if recall is not None]

    def _recall(self, resident: Resident, unsettled: frozenset[Instant]) -> Recall | None:
        since = self._known_since(resident)
        if since is None or resident.slot is None:
            return None
        return Recall(resident.entry, since, resident.slot, unsettled)

    def _known_since(self, resident: Resident) -> Instant | None:
        if resident.slot is None or resident.is_single:
            return None
        since = resident.from_at
        if resident.misfire.grace_ms is not None:
            since = max(since, self.fires_since)
        decided_until = self.fires.decided_until.get(resident.key)
        return since if decided_until is None else max(since, Instant(decided_until + 1))

    def wake(self, recall: Recall, now: Instant) -> bool:
        """Whether the wheel kept the next slot although it was drained past it: a bug, which must not cost the slot."""
        due_at = fire_at_of(recall.entry, recall.before)
        is_overlooked = due_at + OVERLOOKED_MS < min(self.fires.unsettled.drained_until, now)
        if is_overlooked:
            self.fires.wheels.schedule(recall.entry.lane, key_of(recall.entry), due_at)
        return is_overlooked
