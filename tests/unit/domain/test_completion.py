"""When the end of a run completes its job, and how long the job's row stays then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shared.domain.completion import completes, is_over, kept_until, perhaps_over
from shared.domain.instants import DAY, MINUTE, Instant
from shared.domain.job import Job, JobState, RetryPolicy
from shared.domain.run import RunKind, RunStatus
from shared.domain.schedules import At, Cron, Every
from tests.contract.values import NOW, make_job, make_run

LAST = Instant(NOW + 2 * MINUTE)
SCHEDULE = Every(interval_ms=MINUTE, anchor=NOW, end_at=LAST)
SKIPPED, SUCCEEDED = RunStatus.SKIPPED, RunStatus.SUCCEEDED


def job(**changes: Any) -> Job:
    given: dict[str, Any] = {"schedule": SCHEDULE, "overlap": "skip"}
    return make_job(**given | changes)


def over(
    of: Job, slot: int, status: RunStatus = SUCCEEDED, *, reason: str | None = None, now: int = LAST
) -> int | None:
    return perhaps_over(of, make_run(slot), status, reason=reason, now=Instant(now))


def test_the_end_of_the_last_slot_completes_and_its_being_left_out_does_not() -> None:
    assert completes(job(), make_run(LAST), SUCCEEDED)
    assert not completes(job(), make_run(LAST), SKIPPED)
    assert not completes(job(), make_run(NOW), SUCCEEDED)
    assert not completes(job(), make_run(LAST, kind=RunKind.MANUAL), SUCCEEDED)


def test_a_run_of_an_earlier_schedule_completes_a_job_only_if_the_new_one_has_no_slot() -> None:
    once = job(schedule=At(instant=NOW))
    assert not completes(once, make_run(NOW + MINUTE), SUCCEEDED)
    assert completes(once, make_run(NOW), SUCCEEDED)
    later = Instant(LAST + 7)
    assert not completes(job(), make_run(later), SUCCEEDED)
    assert completes(job(from_at=later), make_run(later), SUCCEEDED)


def test_an_end_may_be_the_last_one_once_the_schedule_is_over() -> None:
    assert over(job(), NOW) == LAST
    assert over(job(), LAST, SKIPPED, reason="overlap") == LAST
    assert over(job(), NOW + 7) == LAST
    assert over(job(), NOW, now=LAST - 1) is None


def test_an_instant_before_the_job_was_made_is_its_last_slot_too() -> None:
    late = job(schedule=At(instant=Instant(NOW - MINUTE)), created_at=NOW, from_at=Instant(NOW - MINUTE))
    assert over(late, NOW - MINUTE, SKIPPED, reason="overlap") == NOW - MINUTE


@pytest.mark.parametrize(
    "changes",
    [
        {"overlap": "allow"},
        {"state": JobState.PAUSED},
        {"schedule": Every(interval_ms=MINUTE, anchor=NOW)},
        {"schedule": Cron(expression="* * * * *", timezone="UTC")},
    ],
)
def test_of_other_jobs_nothing_is_looked_up(changes: dict[str, Any]) -> None:
    assert over(job(**changes), NOW) is None


def test_what_goes_on_or_was_left_out_otherwise_ends_nothing() -> None:
    assert over(job(), NOW, RunStatus.WAITING) is None
    assert over(job(), LAST, SKIPPED, reason="paused") is None


def test_a_job_is_over_when_its_last_slot_was_left_out_and_nothing_else_goes_on() -> None:
    mine, last = make_run(NOW), make_run(LAST, status=SKIPPED, reason="overlap")

    assert is_over(last, [], mine)
    assert is_over(last, [mine], mine)
    assert not is_over(last, [make_run(NOW + MINUTE)], mine)
    assert not is_over(None, [], mine)
    assert not is_over(make_run(LAST), [], mine)


def test_a_job_is_over_when_its_last_slot_was_left_out_and_asked_for_since() -> None:
    mine = make_run(NOW)
    asked_for = make_run(LAST, kind=RunKind.BACKFILL, status=RunStatus.SUCCEEDED)

    assert is_over(asked_for, [], mine)
    assert is_over(asked_for, [], asked_for)
    assert not is_over(replace(asked_for, status=RunStatus.WAITING), [], mine)
    assert not is_over(replace(asked_for, status=SKIPPED, reason="superseded"), [], mine)


def test_a_row_stays_for_the_attempts_of_earlier_slots_and_that_of_a_single_slot_as_long_as_is_asked() -> None:
    retry = RetryPolicy(max_age_ms=DAY)
    brief: dict[str, Any] = {"keep_after_completion_ms": 0, "timeout_ms": MINUTE, "retry": retry}

    assert kept_until(job(**brief), NOW) > NOW + DAY + MINUTE
    assert kept_until(job(**brief | {"keep_after_completion_ms": 7 * DAY}), NOW) == NOW + 7 * DAY
    once = job(**brief | {"schedule": At(instant=NOW)})
    assert kept_until(once, NOW) == NOW
    # It was of another schedule before, of which a run may wait for its next attempt.
    assert kept_until(replace(once, read_at=Instant(once.created_at + 1)), NOW) > NOW + DAY + MINUTE
