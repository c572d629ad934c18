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
    """All that becomes of the entry's oldest unsettled slot, which is due, and of those that were missed with it."""
    last = missed_until(entry, slot, now, passed=now)
    return Fired(slot, [dispatch(entry, slot)]) if last is None else Fired(last, decide(entry, slot, last), True)


def dispatch(entry: Entry, slot: Instant) -> Due:
    """The slot as it is fired in time."""
    return _due(entry, slot, entry.kind, entry.lane)


def missed_until(entry: Entry, slot: Instant, now: Instant, *, passed: Instant) -> Instant | None:
    """The newest slot that is later than the grace of the job allows, when `slot` is; else None.

    A clock that is ahead finds slots late before their time: only what the store's has `passed` can be missed.
    """
    schedule, grace_ms = entry.schedule, entry.misfire.least_grace_ms
    if schedule is None or grace_ms is None or not _is_missed(entry, slot, now, passed):
        return None
    until = Instant(max(slot, min(now - grace_ms - 1, passed)))
    last = missed(schedule, Instant(slot - 1), until, newest=1).last
    # A slot fires by its jitter later than it is planned: the newest of them may not be missed yet.
    while last is not None and last > slot and not _is_missed(entry, last, now, passed):
        last = missed(schedule, Instant(slot - 1), Instant(last - 1), newest=1).last
    return slot if last is None else last


def decide(entry: Entry, first: Instant, last: Instant) -> list[Due]:
    """The job's policy over its missed slots: what is caught up, and a row for those that are not."""
    assert entry.schedule is not None
    late = missed(entry.schedule, Instant(first - 1), last, newest=entry.misfire.newest_needed)
    decided = plan_misfire(entry.misfire, late)
    dues = [_due(entry, each, RunKind.CATCH_UP, late_lane(entry.lane)) for each in decided.fire]
    if decided.skipped is not None:
        dues.append(_due(entry, decided.skipped.first, entry.kind, entry.lane, decided.skipped))
    return dues


def _is_missed(entry: Entry, slot: Instant, now: Instant, passed: Instant) -> bool:
    assert entry.schedule is not None
    if fire_at_of(entry, slot) > passed:
        return False
    return entry.misfire.has_missed(entry.schedule, entry.job_key, slot, now=now)


def _due(entry: Entry, slot: Instant, kind: RunKind, lane: str, gap: Gap | None = None) -> Due:
    return Due(entry.shard, entry, slot, fire_at_of(entry, slot), kind, lane, gap)
