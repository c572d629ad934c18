"""Whether and when a failed attempt is repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.domain.instants import DAY, HOUR, MINUTE, SECOND, Instant
from shared.domain.job import RetryPolicy
from shared.domain.retry import (
    PERMANENT,
    Exhausted,
    Failure,
    RetryAt,
    decide,
    is_repeated,
    longest_wait_ms,
    may_claim_again,
)
from shared.domain.run import RunStatus

NOW = Instant(1_000_000_000)
ALMOST_ONE = 1 - 2**-53
POLICY = RetryPolicy(max_attempts=5, base_ms=2 * SECOND, factor=2.0, cap_ms=HOUR, max_age_ms=DAY)
BROKEN = Failure(RunStatus.FAILED, "http_5xx", 503)
REFUSED = Failure(RunStatus.FAILED, "http_4xx", 404)
LATE = Failure(RunStatus.TIMED_OUT, "timeout")


def decided(
    policy: RetryPolicy = POLICY,
    failure: Failure = BROKEN,
    *,
    attempt: int = 1,
    began_at: int = NOW,
    dice: float = ALMOST_ONE,
) -> RetryAt | Exhausted:
    return decide(policy, failure, attempt=attempt, began_at=Instant(began_at), now=NOW, dice=dice)


def test_back_off_doubles_up_to_its_cap() -> None:
    """B46."""
    policy = RetryPolicy(max_attempts=30, base_ms=30 * SECOND, factor=2.0, cap_ms=6 * HOUR)

    bounds = [longest_wait_ms(policy, attempt) for attempt in range(1, 21)]

    assert bounds[:4] == [30 * SECOND, 60 * SECOND, 120 * SECOND, 240 * SECOND]
    assert bounds == [min(30 * SECOND * 2**number, 6 * HOUR) for number in range(20)]


@pytest.mark.parametrize("base_ms", [0, 1, SECOND])
@pytest.mark.parametrize("factor", [1.0, 1e9, 1e308])
@pytest.mark.parametrize("attempt", [1, 2, 1_100])
def test_no_policy_overflows(base_ms: int, factor: float, attempt: int) -> None:
    """B46."""
    policy = RetryPolicy(max_attempts=2_000, base_ms=base_ms, factor=factor, cap_ms=HOUR)

    assert 0 <= longest_wait_ms(policy, attempt) <= HOUR


@pytest.mark.parametrize(("dice", "wait_ms"), [(0.0, 0), (0.5, 4 * SECOND), (ALMOST_ONE, 8 * SECOND - 1)])
def test_the_wait_is_anything_up_to_its_bound(dice: float, wait_ms: int) -> None:
    assert decided(attempt=3, dice=dice) == RetryAt(Instant(NOW + wait_ms))


def test_the_last_attempt_is_followed_by_none() -> None:
    assert isinstance(decided(attempt=4), RetryAt)
    assert decided(attempt=5) == Exhausted("attempts")
    assert decided(replace(POLICY, max_attempts=1)) == Exhausted("attempts")


def test_no_attempt_starts_when_the_run_is_older_than_its_policy_bears() -> None:
    began_at = NOW + 2 * SECOND - 1 - DAY

    assert decided(began_at=began_at) == RetryAt(Instant(NOW + 2 * SECOND - 1))
    assert decided(began_at=began_at - 1) == Exhausted("age")


def test_the_other_side_may_ask_for_a_longer_wait() -> None:
    assert decided(failure=replace(BROKEN, retry_after_ms=90 * SECOND)) == RetryAt(Instant(NOW + 90 * SECOND))
    assert decided(failure=replace(BROKEN, retry_after_ms=1)) == RetryAt(Instant(NOW + 2 * SECOND - 1))


def test_a_wait_beyond_the_age_says_both() -> None:
    found = decided(failure=replace(BROKEN, retry_after_ms=DAY + MINUTE))

    assert found == Exhausted("age", "Retry-After asks for PT1441M, which is beyond retry.max_age (P1D)")


@pytest.mark.parametrize("asked_ms", [7 * DAY + 1, 10**15])
def test_a_wait_that_no_policy_reaches_is_the_cap(asked_ms: int) -> None:
    found = decided(failure=replace(BROKEN, retry_after_ms=asked_ms))

    assert found == RetryAt(Instant(NOW + POLICY.cap_ms))


@pytest.mark.parametrize(
    "failure",
    [
        BROKEN,
        LATE,
        Failure(RunStatus.FAILED, "connect"),
        Failure(RunStatus.FAILED, "ValueError"),
        Failure(RunStatus.FAILED, "http_4xx", 429),
        Failure(RunStatus.FAILED, "http_4xx", 408),
    ],
)
def test_what_may_mend_itself_is_repeated_by_default(failure: Failure) -> None:
    assert is_repeated(POLICY, failure)


@pytest.mark.parametrize(
    "failure",
    [
        REFUSED,
        replace(BROKEN, is_permanent=True),
        *(Failure(RunStatus.FAILED, error_type) for error_type in sorted(PERMANENT)),
    ],
)
def test_what_does_not_mend_itself_is_not(failure: Failure) -> None:
    assert not is_repeated(POLICY, failure)
    assert decided(failure=failure) == Exhausted("error")


def test_a_policy_that_names_failures_repeats_only_those() -> None:
    policy = replace(POLICY, retry_on=("5xx", "timeout"))

    assert is_repeated(policy, BROKEN)
    assert is_repeated(policy, LATE)
    assert not is_repeated(policy, Failure(RunStatus.FAILED, "ValueError"))
    assert is_repeated(replace(POLICY, retry_on=("404",)), REFUSED)
    assert is_repeated(replace(POLICY, retry_on=("4xx",)), replace(REFUSED, is_permanent=True))


def test_never_wins() -> None:
    policy = replace(POLICY, retry_on=("5xx",), never_on=("503",))

    assert not is_repeated(policy, BROKEN)
    assert is_repeated(policy, replace(BROKEN, http_status=502))
    assert not is_repeated(replace(POLICY, never_on=("timeout",)), LATE)
    assert not is_repeated(replace(POLICY, never_on=("ValueError",)), Failure(RunStatus.FAILED, "ValueError"))


def test_a_dead_worker_is_no_failure_of_the_job() -> None:
    once = replace(POLICY, max_attempts=1)

    assert [may_claim_again(once, attempt) for attempt in range(1, 6)] == [True, True, True, False, False]
    assert may_claim_again(POLICY, 5)
    assert not may_claim_again(POLICY, 6)
