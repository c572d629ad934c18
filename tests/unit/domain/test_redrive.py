from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import SECOND, Instant
from shared.domain.redrive import length_ms, may_run_again, run_again, spread
from shared.domain.run import Attempt, Run, RunError, RunKind, RunStatus
from shared.domain.schedules import Gap

NOW = Instant(1_000_000)
FAILED = Run(
    job_key="acme/x",
    run_id="r",
    kind=RunKind.SCHEDULED,
    slot=Instant(0),
    fire_at=Instant(0),
    status=RunStatus.FAILED,
    generation=5,
    token=3,
    attempt=3,
    claim_id="old",
    worker_id="w",
    ended_at=Instant(9),
    output="",
    error=RunError("e", "m"),
    attempts=tuple(Attempt(number, Instant(1), Instant(2), "w") for number in (1, 2, 3)),
    tried_since=Instant(1),
    payload_json="{}",
    expires_at=Instant(99),
)


@pytest.mark.parametrize("status", list(RunStatus))
def test_what_succeeded_or_runs_is_not_run_again(status: RunStatus) -> None:
    assert may_run_again(replace(FAILED, status=status)) == (status not in {RunStatus.SUCCEEDED, RunStatus.RUNNING})


def test_the_row_of_a_gap_is_no_run() -> None:
    assert not may_run_again(replace(FAILED, status=RunStatus.SKIPPED, gap=Gap(Instant(0), Instant(1), 2)))


def test_a_run_is_planned_again_under_a_higher_token_with_a_policy_that_counts_anew() -> None:
    run = run_again(FAILED, generation=6, at=NOW, claim_id="new")

    assert (run.status, run.token, run.attempt, run.attempts_before) == (RunStatus.WAITING, 4, 4, 3)
    assert (run.lease_until, run.fire_at, run.tried_since, run.claim_id) == (NOW, NOW, None, "new")
    assert (run.ended_at, run.output, run.error, run.expires_at, run.worker_id) == (None, None, None, None, "")
    assert (run.run_id, run.slot, run.payload_json, run.attempts) == ("r", 0, "{}", FAILED.attempts)
    assert run.generation == 6


def test_a_run_that_never_started_begins_with_its_first_attempt() -> None:
    cancelled = replace(FAILED, status=RunStatus.CANCELLED, attempt=1, attempts=(), cancel_requested_at=NOW)

    run = run_again(cancelled, generation=6, at=NOW, claim_id="new")

    assert (run.attempt, run.attempts_before, run.cancel_requested_at) == (1, 0, None)


def test_a_run_that_waits_only_waits_less() -> None:
    waiting = replace(FAILED, status=RunStatus.WAITING, attempt=4, attempts_before=2)

    run = run_again(waiting, generation=6, at=NOW, claim_id="new")

    assert (run.attempt, run.attempts_before, run.tried_since) == (4, 2, waiting.tried_since)


def test_many_start_at_the_rate_that_was_asked_for() -> None:
    redrives = list(spread([FAILED] * 5, start=NOW, per_second=2))

    assert [each.starts_at - NOW for each in redrives] == [0, SECOND // 2, SECOND, 3 * SECOND // 2, 2 * SECOND]


@pytest.mark.parametrize(("count", "per_second", "length"), [(1, 1, 1000), (5, 2, 2500), (1, 3, 334), (7, 100, 70)])
def test_what_follows_a_redrive_begins_when_its_next_start_would_have_been_due(
    count: int, per_second: float, length: int
) -> None:
    assert length_ms(count, per_second) == length
