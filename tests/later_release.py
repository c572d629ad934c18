"""An entry as a release reads it that is older than the one that wrote it."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.entry import Entry
from shared.domain.errors import MessageUnreadable
from shared.domain.instants import Instant


@dataclass(frozen=True)
class OfALaterRelease:
    """Where it lies is known, and nothing else."""

    entry: Entry

    @property
    def entry_id(self) -> str:
        return self.entry.entry_id

    @property
    def next_at(self) -> Instant:
        return self.entry.next_at

    @property
    def is_spoken_for(self) -> bool:
        return self.entry.is_spoken_for

    def read(self) -> Entry:
        raise MessageUnreadable("a stored schedule of another version", version=2)
