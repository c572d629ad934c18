"""What becomes of a slot that is due: it is dispatched, or the job's misfire policy decides over it and its like."""

from __future__ import annotations

from dataclasses import dataclass

from functions.scheduler.due import Due, fire_at_of
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.run import RunKind
from shared.domain.schedules import Gap, missed, plan_misfire
from shared.schema import late_lane


@dataclass(frozen=True, slots=True)
class Fired:
    """`last` is the newest slot that `dues` settle, once they are settled themselves."""

    last: Instant
    dues: list[Due]
    #: By the misfire policy: not each slot up to `last` has a run.
    is_decided: bool = False


def fire(entry: Entry, slot: Instant, now: Instant) -> Fired:
    """The entry's oldest unsettled slot is due. Design section 5: a slot older than the grace is missed."""
    if entry.schedule is not None and _is_missed(entry, slot, now):
        return _misfire(entry, slot, now)
    return Fired(slot, [_due(entry, slot, entry.kind, entry.lane)])


def _is_missed(entry: Entry, slot: Instant, now: Instant) -> bool:
    return entry.misfire.has_missed(fire_at_of(entry, slot), now=now)


def _misfire(entry: Entry, slot: Instant, now: Instant) -> Fired:
    """The policy over all slots older than its grace."""
    assert entry.schedule is not None
    assert entry.misfire.grace_ms is not None
    until = Instant(max(slot, now - entry.misfire.grace_ms - 1))
    late = missed(entry.schedule, Instant(slot - 1), until, newest=entry.misfire.newest_needed)
    # A slot fires by its jitter later than it is planned: the newest of them may not be missed yet.
    while late.last is not None and late.last > slot and not _is_missed(entry, late.last, now):
        late = missed(entry.schedule, Instant(slot - 1), Instant(late.last - 1), newest=entry.misfire.newest_needed)
    decided = plan_misfire(entry.misfire, late)
    dues = [_due(entry, each, RunKind.CATCH_UP, late_lane(entry.lane)) for each in decided.fire]
    if decided.skipped is not None:
        dues.append(_due(entry, decided.skipped.first, entry.kind, entry.lane, decided.skipped))
    return Fired(late.last or slot, dues, is_decided=True)


def _due(entry: Entry, slot: Instant, kind: RunKind, lane: str, gap: Gap | None = None) -> Due:
    return Due(entry.shard, entry, slot, fire_at_of(entry, slot), kind, lane, gap)
