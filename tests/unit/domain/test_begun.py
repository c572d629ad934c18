"""When a run that is claimed again goes on, though its slot is left out."""

from __future__ import annotations

import pytest

from shared.domain.instants import Instant
from shared.domain.run import Attempt, Run, RunError, goes_on
from tests.contract.values import NOW, make_run

BOUND_MS = 90_000
LOST = Attempt(1, None, None, "worker-1", RunError("lost", "silent"))
STARTED = Attempt(1, Instant(NOW + 3), None, "worker-1", RunError("lost", "silent"))


def is_on(run: Run, reason: str = "paused", *, changed_at: int = NOW) -> bool:
    return goes_on(run, reason, changed_at=Instant(changed_at), clock_bound_ms=BOUND_MS)


@pytest.mark.parametrize("reason", ["paused", "superseded"])
def test_only_a_run_that_has_begun_goes_on(reason: str) -> None:
    assert not is_on(make_run(), reason)
    assert is_on(make_run(attempts=(STARTED,)), reason)


def test_whose_end_was_asked_for_does_not() -> None:
    assert not is_on(make_run(attempts=(STARTED,)), "cancelled")


@pytest.mark.parametrize(("after_ms", "goes"), [(0, True), (BOUND_MS, True), (BOUND_MS + 1, False)])
def test_a_silent_attempt_may_have_begun_unless_it_was_claimed_after_the_change(after_ms: int, *, goes: bool) -> None:
    assert is_on(make_run(attempts=(LOST,), tried_since=Instant(NOW + after_ms))) is goes


def test_an_attempt_that_is_known_to_have_started_has_begun_whatever_the_clocks_say() -> None:
    assert is_on(make_run(attempts=(LOST, STARTED, LOST), tried_since=Instant(NOW * 2)))


def test_the_newest_known_start_is_the_last_one() -> None:
    run = make_run(attempts=(STARTED, LOST))
    assert run.last_start == STARTED
    assert make_run(attempts=(LOST,)).last_start is None
