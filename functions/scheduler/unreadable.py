"""Entries that this node cannot use: they name a zone that its time zones lack, or were written by a later release.

One such entry must not stop the others. It stays in the table, is looked at again by each load, and has lost nothing:
the watermark does not speak for what is fresh or fires once, and what is neither is parked, fresh, before the watermark
may pass what it owes (`Shard.set_aside`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from shared.domain.instants import Instant


@dataclass(slots=True)
class Unreadable:
    """By entry_id, and when each was last met."""

    _met_at: dict[str, Instant] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._met_at)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._met_at

    def put(self, entry_id: str, now: Instant) -> bool:
        """Whether it was not known."""
        is_new = entry_id not in self._met_at
        self._met_at[entry_id] = now
        return is_new

    def take_back(self, entry_id: str) -> None:
        """It could be read."""
        self._met_at.pop(entry_id, None)

    def loaded(self, started_at: Instant, *, moving: Collection[str]) -> None:
        """What a complete load has not met is not in the table any more, unless it was on its way to another place."""
        self._met_at = {each: at for each, at in self._met_at.items() if at >= started_at or each in moving}
