"""Faults of slots over the changes of their job that were found by other means, mended, and planted again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from functions.api import deciding, editor, generations, rescheduling
from functions.api.changes import build_job
from functions.worker import reading
from shared.domain.instants import Instant
from shared.domain.job import Job, may_run, recreated
from tests.simulation.planted.mutant import Mutant, instead


def _has_planned_by_the_clock(self: Job, generation: int) -> bool:
    return generation >= self.created_at


def _built_over_anything(_: object, over: Job, request: Any, *, by: str, now: Instant) -> Job:
    return recreated(build_job(request, owner_id=over.owner_id, job_id=over.job_id, by=by, now=now), over)


def _with_nothing_owed(_: Job, after: Job, __: Instant | None) -> Job:
    return after


def _may_run_after_any_pause(job: Job | None, slot: Instant, **given: Any) -> str | None:
    return may_run(None if job is None else replace(job, resumed_generation=0), slot, **given)


def _nothing_counted(_: Job, __: Instant) -> int:
    return 0


def _no_slot_waits_for_its_jitter(_: Job, now: Instant) -> Instant:
    return now


def _by_the_clock_of_this_host(now: Instant, _: Instant | None) -> Instant:
    return now


MENDED = (
    Mutant(
        "pauses_by_any_clock",
        "an API host whose clock does not agree with the store's goes by the store's",
        instead(deciding, "agreed", _by_the_clock_of_this_host),
        family="pauses_by_wrong_clocks",
    ),
    Mutant(
        "jitter_forgotten",
        "a change keeps the slot that waits for its jitter",
        instead(generations, "first_to_come", _no_slot_waits_for_its_jitter),
        family="jittered_jobs",
    ),
    Mutant(
        "another_of_its_id",
        "what was planned for a job does not run the next one of its id, whatever the clocks say",
        instead(Job, "has_planned", _has_planned_by_the_clock),
        family="jobs_made_anew",
    ),
    Mutant(
        "made_over_its_runs",
        "a job that is made anew begins behind what the one before it ran",
        instead(editor, "built_over", _built_over_anything),
        family="jobs_made_anew",
    ),
    Mutant(
        "owed_dropped",
        "a change that moves no slot drops none that is owed",
        instead(deciding, "with_owed", _with_nothing_owed),
        family="behind_changes",
    ),
    Mutant(
        "pause_over",
        "what was planned in a pause, or before it, does not start once the pause is over",
        instead(reading, "may_run", _may_run_after_any_pause),
        family="messages_in_pauses",
    ),
    Mutant(
        "counted_anew",
        "`max_runs` goes on counting where a change leaves the kind of the schedule",
        instead(rescheduling, "_counted", _nothing_counted),
        family="limited_jobs",
    ),
)
