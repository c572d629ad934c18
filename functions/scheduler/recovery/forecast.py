"""What an owner would make of the entries of a shard, were firing released at an instant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from functions.scheduler.due import fire_at_of
from functions.scheduler.firing import fire
from shared.domain.entry import Entry, first_unsettled
from shared.domain.instants import Instant
from shared.domain.run import RunKind
from shared.domain.schedules import missed, next_slot
from shared.ports import StoredEntry

SINGLE: Final = "once"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What becomes of the slots of one entry that are due: `fired` as usual, `caught_up` by the job's misfire policy,
    or `skipped` by it.
    """

    entry: Entry
    first: Instant
    last: Instant
    fired: int = 0
    caught_up: int = 0
    skipped: int = 0

    @property
    def count(self) -> int:
        return self.fired + self.caught_up + self.skipped

    @property
    def policy(self) -> str:
        """Of a single fire, which no policy holds back, `once`."""
        return SINGLE if self.entry.is_single else self.entry.misfire.policy


def _raise(_entry: StoredEntry, error: Exception) -> None:
    raise error


def forecasts(
    entries: Iterable[StoredEntry],
    watermark: Instant,
    now: Instant,
    unreadable: Callable[[StoredEntry, Exception], None] = _raise,
) -> Iterator[Forecast]:
    """Of each entry that has something due; the newest generation of a job speaks for it, as in a node's memory. What
    cannot be read, or whose slots cannot be found, is told to `unreadable`.
    """
    met = []
    for stored in entries:
        try:
            met.append(stored.read())
        except Exception as error:  # noqa: BLE001 (one entry hides no other)
            unreadable(stored, error)
    newest: dict[str, int] = {}
    for entry in met:
        if _is_of_schedule(entry):
            newest[entry.job_key] = max(entry.generation, newest.get(entry.job_key, 0))
    for entry in met:
        if _is_of_schedule(entry) and entry.generation < newest[entry.job_key]:
            continue
        try:
            found = forecast(entry, watermark, now)
        except Exception as error:  # noqa: BLE001 (one entry hides no other)
            unreadable(entry, error)
            continue
        if found is not None:
            yield found


def forecast(entry: Entry, watermark: Instant, now: Instant) -> Forecast | None:
    """None when nothing of the entry is due."""
    slot = first_unsettled(entry, watermark)
    if slot is None or fire_at_of(entry, slot) > now:
        return None
    first, last = slot, slot
    fired = caught_up = skipped = 0
    while slot is not None and fire_at_of(entry, slot) <= now:
        sure = _all_fired(entry, slot, now)
        if sure is not None:
            last, count = sure
            fired += count
        else:
            made = fire(entry, slot, now)
            last = made.last
            skipped += sum(due.gap.count for due in made.dues if due.gap is not None)
            kept = [due for due in made.dues if due.gap is None]
            late = sum(1 for due in kept if made.is_decided and due.kind is RunKind.CATCH_UP)
            caught_up, fired = caught_up + late, fired + len(kept) - late
        slot = None if entry.is_single or entry.schedule is None else next_slot(entry.schedule, last)
    return Forecast(entry, first, last, fired, caught_up, skipped)


def _all_fired(entry: Entry, slot: Instant, now: Instant) -> tuple[Instant, int] | None:
    """Without a grace every slot is fired, and a week of seconds is counted, not visited: until when, and how many."""
    if entry.is_single or entry.schedule is None or entry.misfire.grace_ms is not None:
        return None
    until = Instant(now - entry.schedule.window_ms)
    late = missed(entry.schedule, Instant(slot - 1), until, newest=1)
    return None if late.last is None else (late.last, late.count)


def _is_of_schedule(entry: Entry) -> bool:
    """It stands for the job, not for one fire of it."""
    return entry.schedule is not None or entry.is_tombstone
