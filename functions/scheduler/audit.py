"""Looks back: does every slot that was handed to a queue have a run by now?

SQS may lose a message: it expires, or somebody purges the queue. The table is the record, so what has no row a minute
after it should have started is dispatched again, in the catch-up lane, at most three times with growing pauses. A run
that has no row even then is *lost*, or no worker has lived for twenty minutes: both are for an operator.

What is looked up
=================

What a recurring entry in memory must have fired is worked out from its schedule (`recall.py`), entry by entry, round
after round: so a slot that the node itself forgot is noticed too. Everything else that was accepted (single fires,
catch-up fires, entries that went back to the table) is remembered until it was looked up once. A new owner knows
nothing of what its predecessor remembered, nor what it skipped: of entries with a grace it recalls only its own time.

What it costs
=============

A fixed number of rows per minute (600), read consistently by key: at most 600 RRU a minute and node, which is 26
million or $3.25 a month, and nothing while nothing fires. What does not fit waits for its turn; of an entry that fires
often only the newest 20 slots of a round are looked up, of the last ten minutes at most, and of entries only so many at
a time. So with up to 600 runs a minute each is looked up, beyond that a sample.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from functions.scheduler.audit_rules import AuditRules
from functions.scheduler.counts import Counts
from functions.scheduler.due import Due
from functions.scheduler.recall import Recall
from functions.scheduler.shard import Shard
from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.run import Run
from shared.domain.schedules import fire_at
from shared.schema import late_lane


@dataclass(frozen=True, slots=True)
class Look:
    """A run to look up, not before `at`; dispatched again `resends` times so far."""

    at: Instant
    due: Due
    resends: int = 0


@dataclass(slots=True)
class _Round:
    """One walk over all entries in memory. Slots fired between the starts of two rounds are looked up in the second."""

    began_at: Instant
    before_that: Instant
    shards: list[int]
    entry_ids: list[str] = field(default_factory=list)
    shard: int = -1


@dataclass(frozen=True, slots=True)
class Judgement:
    #: To be dispatched again.
    again: list[Due] = field(default_factory=list)
    #: Given up: dispatched as often as it may be, and still without a run.
    lost: list[Due] = field(default_factory=list)


@dataclass(slots=True)
class Auditor:
    """What is to be looked up, and what follows from the answer. No I/O; called under the node's lock."""

    rules: AuditRules
    counts: Counts
    _looks: list[tuple[Instant, int, Look]] = field(default_factory=list)
    _order: count[int] = field(default_factory=count)
    _round: _Round | None = None

    def accepted(self, due: Due, now: Instant) -> None:
        """A queue took a slot that no entry in memory will recall."""
        self._put(Look(Instant(max(now, due.fire_at) + self.rules.deadline_ms), due))

    def _put(self, look: Look) -> None:
        if len(self._looks) >= self.rules.most_remembered:
            self.counts.unaudited += 1
            return
        heapq.heappush(self._looks, (look.at, next(self._order), look))

    def put_back(self, looks: Iterable[Look]) -> None:
        """They could not be looked up."""
        for look in looks:
            self._put(look)

    def drop_shard(self, number: int) -> None:
        """Another node's now."""
        self._looks = [each for each in self._looks if each[2].due.shard != number]
        heapq.heapify(self._looks)

    def take_remembered(self, now: Instant) -> list[Look]:
        """The looks whose time has come, as many as may be read at once."""
        looks: list[Look] = []
        while self._looks and self._looks[0][0] <= now and len(looks) < self.rules.rows_at_once:
            looks.append(heapq.heappop(self._looks)[2])
        return looks

    def next_entries(self, shards: Mapping[int, Shard], now: Instant) -> list[Recall]:
        """What the next entries of the round recall; after the last one a new round starts, once time went on."""
        if self._round is None or not (self._round.entry_ids or self._round.shards):
            if self._round is not None and self._round.began_at >= now:
                return []
            before_that = self._round.began_at if self._round else Instant(now - self.rules.window_ms)
            self._round = _Round(now, before_that, sorted(shards))
        walk = self._round
        while not walk.entry_ids:
            if not walk.shards:
                return []
            walk.shard = walk.shards.pop()
            walk.entry_ids = shards[walk.shard].resident_keys if walk.shard in shards else []
        if walk.shard not in shards:
            walk.entry_ids = []
            return []
        asked, walk.entry_ids = (
            walk.entry_ids[-self.rules.entries_at_once :],
            walk.entry_ids[: -self.rules.entries_at_once],
        )
        recalls = shards[walk.shard].past.recall(asked)
        self.counts.overlooked += sum(shards[walk.shard].past.wake(recall, now) for recall in recalls)
        return recalls

    def looks_of(self, recall: Recall, now: Instant) -> list[Look]:
        """The slots of this round that the entry recalls. Needs no lock."""
        assert self._round is not None
        until = Instant(self._round.began_at - self.rules.deadline_ms)
        since = Instant(max(self._round.before_that - self.rules.deadline_ms, now - self.rules.window_ms))
        entry = recall.entry
        assert entry.schedule is not None
        return [
            Look(
                now,
                Due(entry.shard, entry, slot, fire_at(entry.schedule, entry.job_key, slot), entry.kind, entry.lane),
            )
            for slot in recall.slots_fired(since, until, most=self.rules.slots_per_entry)
        ]

    def judge(self, looks: Iterable[Look], rows: Mapping[RunKey, Run], now: Instant) -> Judgement:
        """Count what was found, and say what is to be done about it."""
        judgement = Judgement()
        for look in looks:
            self.counts.audited += 1
            run = rows.get(look.due.key)
            if run is not None:
                self.counts.late += run.started_at is not None and run.started_at - run.fire_at > self.rules.late_ms
            elif look.resends == self.rules.resends:
                self.counts.lost += 1
                judgement.lost.append(look.due)
            else:
                self.counts.resent += 1
                judgement.again.append(replace(look.due, lane=late_lane(look.due.lane), is_resent=True))
                self._put(Look(Instant(now + (self.rules.deadline_ms << 2 * look.resends)), look.due, look.resends + 1))
        return judgement
