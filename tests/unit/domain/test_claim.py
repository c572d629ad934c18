from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import Instant
from shared.domain.run import Duplicate, HideUntil, Mine, Run, RunKind, RunStatus, TakeOver, decide_claim

NOW = Instant(1_000_000)
BOUND = 45_000
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
    return decide_claim(row, claim_id=claim_id, generation=generation, now=now, clock_bound_ms=BOUND)


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


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.WAITING])
def test_a_live_run_hides_the_message_until_its_lease_ends(status: RunStatus) -> None:
    assert decided(replace(ROW, status=status)) == HideUntil(ROW.lease_until)


def test_a_lapsed_lease_is_taken_over_one_clock_bound_later_and_no_sooner() -> None:
    last = Instant(ROW.lease_until + BOUND)
    assert isinstance(decided(ROW, now=last), HideUntil)
    assert decided(ROW, now=Instant(last + 1)) == TakeOver(token=4, attempt=3)


def test_a_message_is_never_hidden_until_the_past() -> None:
    hidden = decided(ROW, now=Instant(ROW.lease_until + 10_000))
    assert isinstance(hidden, HideUntil)
    assert hidden.instant > ROW.lease_until + 10_000
