"""Which slots of the past a backfill runs: pure, over the rows that are there.

A backfill must never run what a live fire runs too. A slot since the current generation began (`from`) belongs to the
schedulers until a row says that they skipped it; one before it does so while a dispatch of an older generation may
still be on its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from shared.domain.instants import MINUTE, Instant
from shared.domain.job import Job
from shared.domain.keys import run_id_of
from shared.domain.run import Run, RunStatus
from shared.domain.schedules import slots

#: A dispatch older than this has been claimed, or its lane is in trouble.
ON_ITS_WAY_MS = 15 * MINUTE
SUFFIX = "-b"
_NEVER_STARTED = frozenset({RunStatus.SKIPPED, RunStatus.CANCELLED})


class Verdict(StrEnum):
    PLANNED = "planned"
    #: It ran, runs, or is waiting to; `retry` runs it again.
    HAS_RUN = "has_run"
    #: The schedulers may still fire it.
    NOT_SETTLED = "not_settled"


@dataclass(frozen=True, slots=True)
class Candidate:
    slot: Instant
    verdict: Verdict

    @property
    def run_id(self) -> str:
        return run_id_of(self.slot, SUFFIX)


def slots_of_range(job: Job, *, since: Instant, until: Instant, limit: int) -> tuple[list[Instant], Instant | None]:
    """The first `limit` slots with since <= slot < until, and the one behind them."""
    found: list[Instant] = []
    for slot in takewhile(lambda slot: slot < until, slots(job.schedule, Instant(since - 1))):
        if len(found) == limit:
            return found, slot
        found.append(slot)
    return found, None


def judge(job: Job, slot: Instant, rows: Sequence[Run], *, now: Instant) -> Candidate:
    """What a backfill makes of the slot; `rows` are the runs of the range, and of the gap that reaches into it."""
    own = [run for run in rows if run.slot == slot and run.gap is None and run.run_id in _ids_of(slot)]
    if any(run.run_id.endswith(SUFFIX) or run.status not in _NEVER_STARTED for run in own):
        return Candidate(slot, Verdict.HAS_RUN)
    was_skipped = bool(own) or any(run.gap is not None and run.gap.first <= slot <= run.gap.last for run in rows)
    is_live = slot >= job.from_at or (slot >= job.created_at and slot > now - ON_ITS_WAY_MS)
    return Candidate(slot, Verdict.NOT_SETTLED if is_live and not was_skipped else Verdict.PLANNED)


def _ids_of(slot: Instant) -> tuple[str, str]:
    return run_id_of(slot), run_id_of(slot, SUFFIX)
