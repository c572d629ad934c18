"""What an operator reads before releasing the brake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from functions.scheduler.recovery.forecast import SINGLE, Forecast
from shared.domain.instants import Instant, to_rfc3339

POLICIES = (SINGLE, "fire_once", "fire_all", "skip")
HEADER = ("policy", "jobs", "slots", "fired", "caught up", "skipped")


@dataclass(frozen=True, slots=True)
class Misfires:
    """All that is due of all shards. `watermarks` are the shards' own, by number."""

    is_firing: bool
    now: Instant
    watermarks: Mapping[int, Instant]
    found: Sequence[Forecast] = field(default_factory=tuple)
    #: Entries that this release cannot read, by entry_id, and why: what becomes of them is not known.
    unreadable: Mapping[str, str] = field(default_factory=dict)

    @property
    def oldest_first(self) -> list[Forecast]:
        return sorted(self.found, key=lambda each: (each.first, each.entry.entry_id))


def lines_of(misfires: Misfires, *, first: int) -> Iterator[str]:
    """Counts by policy, and the `first` entries, oldest first."""
    brake = "off" if not misfires.is_firing else "ON: nodes of these tables fire already"
    since = min(misfires.watermarks.values(), default=misfires.now)
    yield f"firing is {brake}; settled up to {to_rfc3339(since)}, now {to_rfc3339(misfires.now)}"
    for entry_id, why in misfires.unreadable.items():
        yield f"cannot be read, and is not counted: {entry_id}: {why}"
    if not misfires.found:
        yield "nothing is due"
        return
    rows = [HEADER, *_counts(misfires.found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    for row in rows:
        yield "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
    shown = misfires.oldest_first[:first]
    yield f"the first {len(shown)} of {len(misfires.found)}, oldest first:"
    for each in shown:
        yield f"  {_name_of(each)}  {each.policy}  {_span_of(each)}: {_fate_of(each)}"


def _counts(found: Sequence[Forecast]) -> Iterator[tuple[str, ...]]:
    for policy in POLICIES:
        mine = [each for each in found if each.policy == policy]
        if mine:
            fired, caught_up = sum(each.fired for each in mine), sum(each.caught_up for each in mine)
            skipped = sum(each.skipped for each in mine)
            jobs = len({each.entry.job_key for each in mine})
            yield policy, *map(str, (jobs, fired + caught_up + skipped, fired, caught_up, skipped))


def _name_of(each: Forecast) -> str:
    run_id = each.entry.run_id
    return each.entry.job_key if run_id is None else f"{each.entry.job_key} run {run_id}"


def _span_of(each: Forecast) -> str:
    first = to_rfc3339(each.first)
    return first if each.count == 1 else f"{each.count} slots {first} to {to_rfc3339(each.last)}"


def _fate_of(each: Forecast) -> str:
    fates = (("fired", each.fired), ("caught up", each.caught_up), ("skipped", each.skipped))
    return ", ".join(f"{count} {fate}" for fate, count in fates if count)
