"""What the entries of a shard weigh beyond a plain one. A hundred excluded days weigh as much as twenty entries, and
many have the same ones, such as a country's holidays: each calendar is kept, and counted, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shared.domain.schedules import Cron, Excluded, Schedule

#: A plain entry with all that it refers to; so many as a node may hold take 300 MB.
BYTES_OF_ENTRY = 600
#: What one that fires once weighs more.
BYTES_OF_SINGLE = 300
#: A day in memory: its date, the pair it stands in, and a place for that.
BYTES_OF_DAY = 120


@dataclass(slots=True)
class _Calendar:
    exclude: Excluded
    users: int = 0


@dataclass(slots=True)
class Weights:
    _calendars: dict[Excluded, _Calendar] = field(default_factory=dict)
    _bytes: int = 0

    @property
    def in_entries(self) -> int:
        """How many plain entries weigh as much."""
        return -(-self._bytes // BYTES_OF_ENTRY)

    def take(self, schedule: Schedule | None, *, is_single: bool) -> Schedule | None:
        """An entry comes into memory. Answers its schedule as it is kept: with a calendar that others share, without
        reasons, by which nothing fires; with none where the one slot is known.
        """
        self._bytes += _own_bytes(schedule, is_single=is_single)
        if schedule is None or not schedule.exclude:
            return schedule
        if is_single:
            return replace(schedule, exclude=())
        exclude: Excluded = tuple((day, "") for day, _ in schedule.exclude)
        calendar = self._calendars.get(exclude)
        if calendar is None:
            calendar = self._calendars[exclude] = _Calendar(exclude)
            self._bytes += len(exclude) * BYTES_OF_DAY
        calendar.users += 1
        return replace(schedule, exclude=calendar.exclude)

    def let_go(self, schedule: Schedule | None, *, is_single: bool) -> None:
        """An entry leaves, whose schedule was kept as this; a calendar leaves with its last entry."""
        self._bytes -= _own_bytes(schedule, is_single=is_single)
        if schedule is None or not schedule.exclude:
            return
        calendar = self._calendars[schedule.exclude]
        calendar.users -= 1
        if not calendar.users:
            del self._calendars[schedule.exclude]
            self._bytes -= len(schedule.exclude) * BYTES_OF_DAY


def _own_bytes(schedule: Schedule | None, *, is_single: bool) -> int:
    if is_single:
        return BYTES_OF_SINGLE
    return len(schedule.expression) if isinstance(schedule, Cron) else 0
