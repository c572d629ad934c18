"""The timers of a shard, a wheel for each lane: what is due for a lane that takes nothing waits there, and holds up no
other.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from functions.scheduler.wheel import TimingWheel
from shared.domain.instants import Instant


@dataclass(slots=True)
class Wheels:
    started_at: Instant
    _wheels: dict[str, TimingWheel] = field(default_factory=dict)

    @property
    def lanes(self) -> list[str]:
        return list(self._wheels)

    def schedule(self, lane: str, key: str, due_at: int) -> None:
        wheel = self._wheels.get(lane)
        if wheel is None:
            wheel = self._wheels[lane] = TimingWheel(start_ms=self.started_at)
        wheel.schedule(key, due_at)

    def cancel(self, lane: str, key: str) -> None:
        wheel = self._wheels.get(lane)
        if wheel is not None:
            wheel.cancel(key)

    def expire(self, lane: str, until: Instant, limit: int) -> list[tuple[str, int]]:
        """Some of what is due by then, `limit` at most: a short answer, even an empty one, proves nothing."""
        return self._wheels[lane].expire(until, limit=limit)

    def next_due(self, until: Instant) -> int | None:
        """When there is something to expire: `until` for at once, None when there is no timer."""
        dues = [due for wheel in self._wheels.values() if (due := wheel.next_due(until)) is not None]
        return min(dues, default=None)

    def is_drained(self, until: Instant) -> bool:
        """Nothing that is due by then is left."""
        return all(wheel.next_due(until) != until for wheel in self._wheels.values())
