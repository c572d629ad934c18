"""Rows that hosts of this release cannot read, as a later one writes them in a deploy, until the world heals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from random import Random

from shared.adapters.memory import MemoryTables
from shared.domain.entry import Entry
from shared.domain.schedules import Cron, Schedule
from shared.ports import JobWrite

#: In no table of time zones yet.
_UNKNOWN = Cron(expression="* * * * *", timezone="Mars/Olympus")


class Unreadable(Exception):
    """What the decoding of a row raises: no fault of a store."""


@dataclass(slots=True)
class Spoiled:
    tables: MemoryTables
    random: Random
    #: Of each write.
    chance: float
    #: By job and generation, what their entries say really.
    schedules: dict[tuple[str, int], Schedule] = field(default_factory=dict)
    jobs: set[str] = field(default_factory=set)
    #: Jobs of which anything was spoiled, at any time.
    ever: set[str] = field(default_factory=set)

    def written(self, change: JobWrite) -> None:
        """Of what was written, the entry or the job may be of another release."""
        if not self.chance:
            return
        self.jobs.discard(change.job.job_key)
        entry, dice = change.put_entry, self.random.random()
        if dice < self.chance and entry is not None and entry.schedule is not None and not entry.is_single:
            self.ever.add(entry.job_key)
            self.schedules[entry.job_key, entry.generation] = entry.schedule
            self.tables.put_entry(replace(entry, schedule=_UNKNOWN))
        elif dice > 1 - self.chance:
            self.ever.add(change.job.job_key)
            self.jobs.add(change.job.job_key)

    def check(self, job_keys: Collection[str]) -> None:
        """A batch with one of them cannot be decoded."""
        found = self.jobs.intersection(job_keys)
        if found:
            raise Unreadable(f"{sorted(found)}")

    def heal(self) -> None:
        """Who reads them now knows how."""
        self.chance = 0.0
        self.jobs.clear()
        for of_shard in self.tables.entries.values():
            for entry in list(of_shard.values()):
                self._mend(of_shard, entry)

    def _mend(self, of_shard: dict[str, Entry], entry: Entry) -> None:
        schedule = self.schedules.get((entry.job_key, entry.generation))
        if schedule is not None and entry.schedule == _UNKNOWN:
            of_shard[entry.entry_id] = replace(entry, schedule=schedule)
