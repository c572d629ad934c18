"""What a user sees before creating a job: the coming slots in local time and UTC, and whatever is odd about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Literal, TypeAlias

from shared.domain.instants import DAY, EPOCH, LAST_INSTANT, Instant, to_datetime
from shared.domain.limits import MAX_PREVIEW
from shared.domain.schedules.jitter import jitter_bound
from shared.domain.schedules.local_time import local_to_instant
from shared.domain.schedules.matching import EPOCH_ORDINAL
from shared.domain.schedules.slots import compiled, next_slot, slots
from shared.domain.schedules.spans import Span, pieces
from shared.domain.schedules.values import At, Cron, Schedule
from shared.domain.schedules.zones import zone

Mark: TypeAlias = Literal["gap_shifted", "repeated", "skipped", "excluded"]


@dataclass(frozen=True, slots=True)
class PreviewSlot:
    """One line of a preview.

    `local` is ISO 8601 with its offset, or without one for a local time that does not exist. `latest_fire_at` is the
    last instant the window allows. Marks: `gap_shifted`, asked for a local time that does not exist, fires when the gap
    ends; `repeated`, the local clock shows this time twice; `skipped`, does not exist and does not fire, `slot` is the
    end of the gap; `excluded`, the first slot of a date taken out, does not fire.
    """

    slot: Instant
    local: str
    latest_fire_at: Instant
    marks: tuple[Mark, ...] = ()

    @property
    def fires(self) -> bool:
        return "skipped" not in self.marks and "excluded" not in self.marks


def preview(schedule: Schedule, after: Instant, count: int) -> list[PreviewSlot]:
    """The next `count` (at most 100) slots later than `after`, and between them at most as many that do not fire."""
    count = min(count, MAX_PREVIEW)
    coming = list(islice(slots(schedule, after), count))
    until = coming[-1] if len(coming) == count else schedule.end_at or (coming[-1] if coming else after)
    lines = [_line(schedule, slot, _marks(schedule, slot)) for slot in coming]
    silent = sorted([*_excluded(schedule, after, until), *_skipped(schedule, after, until)], key=lambda line: line.slot)
    return sorted(lines + silent[:count], key=lambda line: (line.slot, line.fires))


def zone_name_of(schedule: Schedule) -> str:
    """The zone in which its dates and local times count."""
    return (schedule.timezone or "UTC") if isinstance(schedule, At | Cron) else "UTC"


def _line(schedule: Schedule, slot: Instant, marks: tuple[Mark, ...]) -> PreviewSlot:
    local = _local(schedule, slot).isoformat(timespec="milliseconds")
    return PreviewSlot(slot, local, Instant(min(slot + jitter_bound(schedule, slot) - 1, LAST_INSTANT)), marks)


def _local(schedule: Schedule, slot: Instant) -> datetime:
    try:
        return to_datetime(slot).astimezone(zone(zone_name_of(schedule)))
    except OverflowError:  # the last hours of the year 9999 have no local form east of Greenwich
        return to_datetime(slot)


def _marks(schedule: Schedule, slot: Instant) -> tuple[Mark, ...]:
    local = _local(schedule, slot)
    marks: list[Mark] = []
    if _is_shifted(schedule, slot):
        marks.append("gap_shifted")
    if local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset():
        marks.append("repeated")
    return tuple(marks)


def _is_shifted(schedule: Schedule, slot: Instant) -> bool:
    if isinstance(schedule, Cron):
        span, start, _ = next(pieces(schedule.timezone, slot, slot + 1))
        zoned = compiled(schedule)
        local = slot + span.offset
        return start == span.start and zoned.fires_at_gap_end(span) and zoned.calendar.next_local(local) != local
    if isinstance(schedule, At) and schedule.local is not None:
        shown = datetime.fromisoformat(schedule.local)
        return _local(schedule, slot).replace(tzinfo=None) != shown
    return False


def _excluded(schedule: Schedule, after: Instant, until: Instant) -> Iterator[PreviewSlot]:
    """The first slot of each date taken out."""
    everything = replace(schedule, exclude=())
    for day, _ in schedule.exclude:
        start = _day_start(schedule, day)
        slot = next_slot(everything, Instant(max(after, start - 1)))
        if slot is not None and slot <= until and _local(schedule, slot).date() == day:
            yield _line(everything, slot, ("excluded",))


def _day_start(schedule: Schedule, day: date) -> int:
    local = (day.toordinal() - EPOCH_ORDINAL) * DAY
    start = local_to_instant(zone_name_of(schedule), local)
    return local - DAY if start is None else start


def _skipped(schedule: Schedule, after: Instant, until: Instant) -> Iterator[PreviewSlot]:
    """One line for each gap of the local clock that swallowed slots.

    Only around the days that the expression names: between two slots of 29 February there are years without any.
    """
    if not isinstance(schedule, Cron) or until <= after:
        return
    zoned = compiled(schedule)
    seen = after
    local = zoned.calendar.next_local(after - DAY)
    # No zone is a day away from UTC.
    while local is not None and local - DAY <= until:
        low, high = max(seen + 1, local - DAY), min(until, local + 2 * DAY)
        for span, start, _ in pieces(schedule.timezone, low, high + 1):
            named = zoned.gap_time(span) if start == span.start else None
            if named is not None and not zoned.fires_at_gap_end(span):
                yield _gap_line(span, named)
        seen = Instant(max(seen, high))
        local = zoned.calendar.next_local((local // DAY + 1) * DAY)


def _gap_line(span: Span, local: int) -> PreviewSlot:
    naive = (EPOCH + timedelta(milliseconds=local)).replace(tzinfo=None)
    return PreviewSlot(Instant(span.start), naive.isoformat(timespec="milliseconds"), Instant(span.start), ("skipped",))
