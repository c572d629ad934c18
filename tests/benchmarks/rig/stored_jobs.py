"""A table of entries that takes no memory: each row is made when it is read, and read as DynamoDB's rows are."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from shared.adapters.dynamodb.attributes import Row, text, whole
from shared.adapters.dynamodb.entry_rows import StoredRow, write_entry
from shared.domain.entry import Entry
from shared.domain.instants import DAY, MINUTE, SECOND, Instant
from shared.domain.keys import EntryKey, announced_id, schedule_name
from shared.domain.schedules import Cron, Every, Schedule

PAGE = 500
#: How long ago the oldest first fire was.
RECENT_MS = 5 * MINUTE
#: Owners among whom the jobs are spread.
OWNERS = 50


@dataclass(slots=True)
class StoredJobs:
    """`count` recurring jobs, created a day before `now`, in `shard_count` equal shards. Without a `period_ms` each
    fires at every second; else they have `schedules` different ones, whose slots are spread over the period.
    """

    count: int
    shard_count: int
    now: Instant
    period_ms: int | None = None
    schedules: int = 200
    moved: int = 0
    #: Of further jobs, which lie under their first fire in each second of before and of now.
    first_fires_per_s: int = 0
    _templates: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        kinds = 1 if self.period_ms is None else min(self.count, self.schedules)
        self._templates = [write_entry(self._entry(number / kinds)) for number in range(kinds)]

    def _entry(self, phase: float) -> Entry:
        from_at = Instant(self.now - DAY)
        return Entry(
            shard=0,
            entry_id="",
            job_key="",
            generation=from_at,
            next_at=from_at,
            from_at=from_at,
            schedule=self._schedule(phase),
        )

    def _schedule(self, phase: float) -> Schedule:
        if self.period_ms is None:
            return Cron(expression="* * * * * *", timezone="Europe/Berlin", has_seconds=True)
        anchor = Instant(self.now - DAY + round(phase * self.period_ms))
        return Every(interval_ms=self.period_ms, anchor=anchor)

    def row(self, shard: int, number: int, *, at: Instant | None = None) -> Row:
        """Of the job `number`; ids are as long as real ones."""
        job_key = f"owner-{number % OWNERS}/job-{number * 2_654_435_761 % 2**64:016x}"
        # Each row has integers of its own, as rows have that come from a table.
        from_at = Instant(self.now - DAY + number % SECOND)
        return {
            **self._templates[number % len(self._templates)],
            "shard": whole(shard),
            # Under its first fire, as most are.
            "entry_id": text(announced_id(at or from_at + SECOND, schedule_name(job_key, from_at))),
            "job_key": text(job_key),
            "generation": whole(from_at),
            "from_at": whole(from_at),
        }

    # The port.

    def announced(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[StoredRow]]:
        if since <= self.now - DAY + SECOND and until >= self.now - DAY:
            numbers = range(shard, self.count, self.shard_count)
            for first in range(0, len(numbers), PAGE):
                yield [StoredRow(self.row(shard, number)) for number in numbers[first : first + PAGE]]
        if recent := list(self._recent(shard, since, until)):
            yield recent

    def _recent(self, shard: int, since: Instant, until: Instant) -> Iterator[StoredRow]:
        """All that fire first in one second are in one shard."""
        first = -(-max(since, self.now - RECENT_MS) // SECOND)
        for second in range(first + (shard - first) % self.shard_count, until // SECOND + 1, self.shard_count):
            for number in range(self.first_fires_per_s):
                yield StoredRow(
                    self.row(shard, self.count + second * self.first_fires_per_s + number, at=Instant(second * SECOND))
                )

    def parked(self, shard: int, *, since: Instant, until: Instant) -> Iterator[list[StoredRow]]:  # noqa: ARG002
        return iter(())

    def get(self, key: EntryKey) -> Entry | None:
        raise NotImplementedError

    def delete(self, keys: Collection[EntryKey]) -> None:
        if keys:
            raise NotImplementedError

    def move(self, key: EntryKey, next_at: Instant) -> bool:  # noqa: ARG002
        self.moved += 1
        return True

    def clear_fresh(self, keys: Collection[EntryKey]) -> None:
        if keys:
            raise NotImplementedError
