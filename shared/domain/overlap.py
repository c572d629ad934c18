"""When a run may start beside the other runs of its job: pure.

A job has places for its runs. A run takes one before it starts, and leaves it when it has ended: between its attempts,
and when its worker falls silent, the place stays its own, for it is not over. Only the lease of a run that waits for a
place, and that of a place within the owner's limit, lapses: by the clock bound.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.domain.instants import SECOND, Instant
from shared.domain.job import Job

#: A waiting run looks again after this at first, and after a fifth of its wait so far later on, up to a bound. That
#: exceeds the longest wait that keeps its message (`LONGEST_KEPT_WAIT_MS`): what has waited for five minutes is an
#: entry, and not in flight, where a lane bears 120,000 messages.
FIRST_LOOK_MS = 4 * SECOND
LONGEST_LOOK_MS = 120 * SECOND
_LOOKS_PER_WAIT = 5


class Place(StrEnum):
    """A kind of place: to run, and to wait as the one run that `buffer_one` keeps; and one of the owner's."""

    RUN = "holders"
    BUFFER = "buffered"
    OWNER = "owner_holders"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a place. `token` is the fencing token of the run's claim: of one run, the newest claim holds."""

    run_id: str
    token: int
    lease_until: Instant


@dataclass(frozen=True, slots=True)
class Free:
    """There is a place. `gone` are holders that fell silent: they lose theirs."""

    gone: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """No place is left, or a newer claim of the same run has one. `by` is who holds them."""

    by: tuple[Holder, ...]


def is_silent(holder: Holder, *, now: Instant, clock_bound_ms: int) -> bool:
    """Its worker is dead, or its run waited for its next attempt and should have begun it."""
    return now > holder.lease_until + clock_bound_ms


def room_for(
    mine: Holder, holders: Collection[Holder], *, limit: int, now: Instant, clock_bound_ms: int
) -> Free | Taken:
    """Whether `mine` may have one of `limit` places. What an older claim of the same run holds is its own; holders that
    are silent for longer than the bound are gone.
    """
    newer = [each for each in holders if each.run_id == mine.run_id and each.token > mine.token]
    if newer:
        return Taken(tuple(newer))
    others = [each for each in holders if each.run_id != mine.run_id]
    gone = [each for each in others if is_silent(each, now=now, clock_bound_ms=clock_bound_ms)]
    living = [each for each in others if each not in gone]
    return Free(tuple(gone)) if len(living) < limit else Taken(tuple(living))


def places_of(job: Job) -> int | None:
    """How many runs of the job may go on at once; None: any number, and nobody counts."""
    return job.max_concurrent if job.overlap == "allow" else 1


def keeps_place_between_attempts(job: Job) -> bool:
    """A run that waits for its next attempt is not over: where runs exclude each other it goes on excluding."""
    return job.overlap != "allow"


class Yielding(StrEnum):
    """What a run does that finds no place."""

    SKIP = "skip"
    #: It looks again later.
    WAIT = "wait"
    #: It waits if it is the only one to, and is skipped otherwise.
    BUFFER = "buffer"
    #: The holders are asked to end, and it waits until they have.
    CANCEL = "cancel"


def yielding(job: Job, run_id: str, by: Sequence[Holder], *, has_begun: bool = False) -> Yielding:
    """An earlier run never ends a later one: two that cancel each other would go on for ever. One that has begun is
    never skipped: without a place for its next attempt it waits.
    """
    what = _yielding(job, run_id, by)
    return Yielding.WAIT if has_begun and what in {Yielding.SKIP, Yielding.BUFFER} else what


def _yielding(job: Job, run_id: str, by: Sequence[Holder]) -> Yielding:
    match job.overlap:
        case "skip":
            return Yielding.SKIP
        case "buffer_one":
            return Yielding.BUFFER
        case "cancel_other":
            return Yielding.CANCEL if all(each.run_id < run_id for each in by) else Yielding.SKIP
        case _:
            return Yielding.WAIT


def next_look(*, since: Instant, now: Instant, are_many: bool) -> Instant:
    """When a run that waits `since` then looks for a place again: less and less often where many may wait, those of a
    `max_concurrent` or of an owner's maximum.
    """
    longest_ms = LONGEST_LOOK_MS if are_many else FIRST_LOOK_MS
    return Instant(now + max(FIRST_LOOK_MS, min((now - since) // _LOOKS_PER_WAIT, longest_ms)))
