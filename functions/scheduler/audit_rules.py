"""What the audit may cost, and when it calls a run missing."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.instants import MINUTE, SECOND


@dataclass(frozen=True, slots=True)
class AuditRules:
    every_ms: int = 10 * SECOND
    #: A run without a row this long after its fire_at (or its acceptance) is missing.
    deadline_ms: int = 1 * MINUTE
    #: How far back entries are asked.
    window_ms: int = 10 * MINUTE
    rows_per_minute: int = 600
    slots_per_entry: int = 20
    #: Entries asked at once, and how often per audit at most.
    entries_at_once: int = 50
    times_at_once: int = 10
    #: Looks that may wait; what is accepted beyond is not looked up.
    most_remembered: int = 20_000
    resends: int = 3
    #: A start later than this counts as late.
    late_ms: int = 10 * SECOND

    @property
    def rows_at_once(self) -> int:
        return self.rows_per_minute * self.every_ms // MINUTE
