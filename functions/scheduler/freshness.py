"""Entries of which the watermark does not speak yet: it may have passed while no owner had them in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.scheduler.fires import Fires, fires_at
from functions.scheduler.resident import Resident
from shared.domain.instants import Instant


@dataclass(slots=True)
class Freshness:
    #: Those of the shard.
    residents: dict[str, Resident]
    fires: Fires
    #: By `key_of`.
    _fresh: dict[str, None] = field(default_factory=dict)

    def met(self, resident: Resident) -> None:
        if resident.is_fresh:
            self._fresh[resident.key] = None

    def forget(self, key: str) -> None:
        self._fresh.pop(key, None)

    def behind(self, watermark: Instant) -> list[str]:
        """Of this watermark, which is durable: it speaks for these from now on."""
        # In flight before the watermark: met, and fired, while the checkpoint was on its way.
        pinned = self.fires.entries_until(watermark)
        fresh = [self.residents[key] for key in self._fresh]
        return [each.entry_id for each in fresh if _is_behind(each, watermark) and each.entry_id not in pinned]

    def cleared(self, entry_ids: set[str]) -> None:
        """The table says so of these entries, so the watermark is all that matters of them from now on."""
        for key in [key for key in self._fresh if self.residents[key].entry_id in entry_ids]:
            self.residents[key].is_fresh = False
            del self._fresh[key]


def _is_behind(resident: Resident, watermark: Instant) -> bool:
    """The entry fired, and its next slot in the wheel lies behind the watermark."""
    if not resident.is_fresh or resident.next_at > watermark:
        return False
    return resident.slot is None or fires_at(resident, resident.slot) > watermark
