from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import HOUR, Instant
from shared.domain.run import Duplicate, HideUntil, Mine, Run, RunKind, RunStatus, TakeOver, decide_claim
from shared.domain.timing import CLOCK_BOUND_MS
from shared.schema import MAX_RECEIVE_COUNT

NOW = Instant(1_000_000)
BOUND = 45_000
EARLY = 1_300
ROW = Run(
    job_key="acme/x",
    run_id="r",
    kind=RunKind.SCHEDULED,
    slot=Instant(0),
    fire_at=Instant(0),
    status=RunStatus.RUNNING,
    generation=5,
    token=3,
    attempt=2,
    claim_id="theirs",
    lease_until=Instant(NOW + 10_000),
)


def decided(row: Run, *, claim_id: str = "mine", generation: int = 5, now: Instant = NOW) -> object:
    return decide_claim(row, claim_id=claim_id, generation=generation, now=now, clock_bound_ms=BOUND, early_ms=EARLY)


def test_a_row_with_my_claim_id_is_mine_whatever_its_status() -> None:
    assert decided(ROW, claim_id="theirs") == Mine(ROW)


@pytest.mark.parametrize("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT])
def test_an_ended_run_makes_the_message_a_duplicate_of_any_generation(status: RunStatus) -> None:
    ended = replace(ROW, status=status)
    assert decided(ended, generation=9) == Duplicate(ended)


@pytest.mark.parametrize("status", [RunStatus.SKIPPED, RunStatus.CANCELLED])
def test_a_slot_not_run_by_an_older_generation_is_run_by_a_newer_one(status: RunStatus) -> None:
    row = replace(ROW, status=status)
    assert decided(row, generation=6) == TakeOver(token=4, attempt=2)
    assert decided(row, generation=5) == Duplicate(row)
    assert decided(row, generation=4) == Duplicate(row)


def test_a_slot_that_somebody_cancelled_is_run_by_no_generation() -> None:
    row = replace(ROW, status=RunStatus.CANCELLED, cancel_requested_at=NOW)

    assert decided(row, generation=6) == Duplicate(row)


def test_a_lapsed_lease_is_taken_over_one_clock_bound_later_and_no_sooner() -> None:
    last = Instant(ROW.lease_until + BOUND)
    assert decided(ROW, now=last) == HideUntil(Instant(last + 1))
    assert decided(ROW, now=Instant(last + 1)) == TakeOver(token=4, attempt=3)


def test_a_live_run_is_looked_at_again_when_it_may_be_taken_over() -> None:
    """Every look is a receive."""
    assert decided(ROW) == HideUntil(Instant(ROW.lease_until + BOUND + 1))


def test_a_run_of_eleven_hours_is_looked_at_fewer_times_than_a_message_may_be_received() -> None:
    now, end, looks = NOW, NOW + 11 * HOUR, 0
    while now < end:
        row = replace(ROW, claimed_at=NOW, lease_until=Instant(now + 20_000))
        hidden = decide_claim(
            row, claim_id="mine", generation=5, now=now, clock_bound_ms=2 * CLOCK_BOUND_MS, early_ms=EARLY
        )
        assert isinstance(hidden, HideUntil)
        now, looks = hidden.instant, looks + 1

    assert looks < MAX_RECEIVE_COUNT * 9 // 10


def test_a_waiting_run_is_claimed_so_early_that_its_start_is_held_and_without_a_clock_bound() -> None:
    row = replace(ROW, status=RunStatus.WAITING)
    claimable_at = Instant(ROW.lease_until - EARLY)

    assert decided(row, now=Instant(claimable_at - 1)) == HideUntil(claimable_at)
    assert decided(row, now=claimable_at) == TakeOver(token=4, attempt=2)
