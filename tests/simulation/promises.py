"""What must be true of a run whose target is about to be called: whose it is, and that no pause forbids it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

from shared.domain.instants import SECOND
from shared.domain.job import JobState
from shared.domain.run import RunKind
from shared.domain.schedules import At, Every, Schedule, is_slot
from tests.simulation.generations import Generation
from tests.simulation.ledger import Ledger

if TYPE_CHECKING:
    from functions.worker.live_run import LiveRun

#: So far may what an API writes be ahead of the store's clock; and what it decided is stored within this.
_AHEAD_MS, _TAKES_MS = 6 * SECOND, 5 * SECOND
_OF_SCHEDULE = frozenset({RunKind.SCHEDULED, RunKind.CATCH_UP})


def check_receivers(ledger: Ledger, going_on: Iterable[LiveRun], places: int) -> None:
    """No host that an owner calls has more than a quarter of what a worker may wait for."""
    for receiver, count in Counter(live.receiver for live in going_on).items():
        if receiver is not None and count > max(places // 4, 1):
            ledger.violate("receivers", f"{count} runs wait for {receiver} at once, of {places} that may")


def check_begin(ledger: Ledger, live: LiveRun) -> None:
    """Called once for each attempt."""
    job = live.job
    assert job is not None
    generations = ledger.generations[job.job_key]
    planned = ledger.generation_of(job.job_key, live.run.generation)
    if planned is not None and planned.job.created_at != job.created_at:
        ledger.violate("identity", f"{live.run.key} of a job that is gone runs what another of its id calls")
    if live.run.kind not in _OF_SCHEDULE:
        return
    _check_pauses(ledger, live, generations)
    _check_count(ledger, live, generations)


def _check_pauses(ledger: Ledger, live: LiveRun, generations: list[Generation]) -> None:
    """What was due within a pause, as the API wrote it, does not start once the job is resumed."""
    job, run, due = live.job, live.run, ledger.due_of.get(live.run.key)
    assert job is not None
    if due is None or run.key in ledger.run_again or any(key == run.key for key, _ in _earlier(ledger, live)):
        return
    planned = ledger.generation_of(job.job_key, run.generation)
    asked_at = planned.job.schedule if planned is not None and isinstance(planned.job.schedule, At) else None
    claimed_at = ledger.claims.get((run.key, run.token), ledger.now())
    for pause, resume in pairwise(generations):
        is_pause = pause.job.state is JobState.PAUSED and resume.job.state is JobState.ACTIVE
        is_same = pause.job.schedule == resume.job.schedule
        is_same = is_same and pause.job.created_at == resume.job.created_at == job.created_at
        # Asked for after the pause: a time a little in the past, which may lie in it.
        is_same = is_same and asked_at in (None, pause.job.schedule)
        is_within = pause.since <= due < resume.since or _is_within_in_truth(due, pause, resume)
        if is_pause and is_same and is_within and claimed_at > resume.committed_at:
            ledger.violate("pause", f"{run.key}, due at {due} in a pause from {pause.since} on, starts after it")


def _is_within_in_truth(due: int, pause: Generation, resume: Generation) -> bool:
    """Whatever the clocks of the API's hosts say."""
    return pause.committed_at + _AHEAD_MS <= due < resume.committed_at - _TAKES_MS


def _earlier(ledger: Ledger, live: LiveRun) -> list[tuple[object, int]]:
    begun = ledger.executions.begun
    return [(live.run.key, token) for token in range(1, live.run.token) if (live.run.key, token) in begun]


def _check_count(ledger: Ledger, live: LiveRun, generations: list[Generation]) -> None:
    """`max_runs` counts over all changes that leave what the schedule is."""
    job = live.job
    assert job is not None
    if job.schedule.max_runs is None or isinstance(job.schedule, At) or not is_slot(job.schedule, live.run.slot):
        return
    same: list[Generation] = []
    for generation in generations:
        if generation.job.created_at != job.created_at or _nature(generation.job.schedule) != _nature(job.schedule):
            same = []
        else:
            same.append(generation)
    if not same:
        return
    first = same[0].job.generation
    if live.run.generation < first or live.run.slot < same[0].since:
        # Planned by another schedule, which the job had before, and late.
        return
    counted = ledger.counted[job.job_key, first]
    counted.add(live.run.slot)
    if len(counted) > job.schedule.max_runs:
        detail = f"slot {live.run.slot} of {job.job_key} is run number {len(counted)} of {job.schedule.max_runs}"
        ledger.violate("count", detail)


def _nature(schedule: Schedule) -> tuple[object, ...]:
    if isinstance(schedule, At):
        return (schedule.instant,)
    what = schedule.interval_ms if isinstance(schedule, Every) else (schedule.expression, schedule.timezone)
    return (what, schedule.max_runs)
