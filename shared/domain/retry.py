"""Whether and when a failed attempt is repeated: pure, with the time and the dice as arguments."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.durations import format_duration
from shared.domain.instants import Instant
from shared.domain.job import RetryPolicy
from shared.domain.limits import MAX_RETRY_AGE_MS
from shared.domain.run import RunStatus

#: A run whose worker died is claimed at least this often, whatever its policy: that was no failure of the job.
LEAST_CLAIMS = 3

#: Failures that no repetition mends. They are repeated only where `retry_on` names them.
PERMANENT = frozenset({
    "http_1xx", "http_3xx", "http_4xx", "refused_address", "unknown_target", "unknown_handler", "unreadable_job",
    "not_granted", "gone", "tls",
})  # fmt: skip
#: Statuses of the class 4xx that ask to come again: Request Timeout, Too Early, Too Many Requests.
TRANSIENT_STATUSES = frozenset({408, 425, 429})

_HTTP = "http_"


@dataclass(frozen=True, slots=True)
class RetryAt:
    instant: Instant


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No further attempt. `reason`: `attempts`, `age`, or `error` (of a kind that is not repeated)."""

    reason: str
    #: For people, where the failure itself does not show it.
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of a failed attempt. `http_status` and `retry_after_ms` only where something answered."""

    status: RunStatus
    error_type: str
    http_status: int | None = None
    retry_after_ms: int | None = None
    #: Whoever answered said that another attempt would end the same way.
    is_permanent: bool = False


def decide(
    policy: RetryPolicy, failure: Failure, *, attempt: int, began_at: Instant, now: Instant, dice: float
) -> RetryAt | Exhausted:
    """What follows attempt number `attempt` (from 1), of a series whose first attempt began at `began_at`.

    The wait is uniform from nothing to base * factor^(attempt - 1), at most `cap` (full jitter: 0 <= `dice` < 1), and
    never shorter than what the other side asked for (`Retry-After`).
    """
    if attempt >= policy.max_attempts:
        return Exhausted("attempts")
    if not is_repeated(policy, failure):
        return Exhausted("error")
    wait_ms, asked_ms = int(longest_wait_ms(policy, attempt) * dice), _asked_wait_ms(policy, failure)
    retry_at = Instant(now + max(wait_ms, asked_ms))
    if retry_at <= began_at + policy.max_age_ms:
        return RetryAt(retry_at)
    if asked_ms <= wait_ms:
        return Exhausted("age")
    asked, age = format_duration(asked_ms), format_duration(policy.max_age_ms)
    return Exhausted("age", f"Retry-After asks for {asked}, which is beyond retry.max_age ({age})")


def _asked_wait_ms(policy: RetryPolicy, failure: Failure) -> int:
    """What the other side asked for: `cap` where that is further than any policy reaches, for nobody means it."""
    asked_ms = failure.retry_after_ms or 0
    return policy.cap_ms if asked_ms > MAX_RETRY_AGE_MS else asked_ms


def longest_wait_ms(policy: RetryPolicy, attempt: int) -> int:
    """The bound of the wait after this attempt. Multiplied step by step: a power would overflow."""
    bound = float(policy.base_ms)
    for _ in range(attempt - 1):
        if bound <= 0 or bound >= policy.cap_ms:
            break
        bound *= policy.factor
    return int(min(bound, policy.cap_ms))


def is_repeated(policy: RetryPolicy, failure: Failure) -> bool:
    """`never_on` decides before `retry_on`. With an empty `retry_on`, everything is repeated that may mend itself."""
    words = words_of(failure)
    if words & set(policy.never_on):
        return False
    if policy.retry_on:
        return bool(words & set(policy.retry_on))
    if failure.http_status in TRANSIENT_STATUSES:
        return True
    return not failure.is_permanent and failure.error_type not in PERMANENT


def words_of(failure: Failure) -> set[str]:
    """What `retry_on` and `never_on` may call the failure: the type of its error, the class of an HTTP status (`5xx`),
    the status (`503`), and `timeout`.
    """
    words = {failure.error_type, failure.error_type.removeprefix(_HTTP)}
    if failure.http_status is not None:
        words |= {str(failure.http_status), f"{failure.http_status // 100}xx"}
    if failure.status is RunStatus.TIMED_OUT:
        words.add("timeout")
    return words


def may_claim_again(policy: RetryPolicy, attempt: int) -> bool:
    """The attempt with this number, which follows one whose worker died, may still be made."""
    return attempt <= max(policy.max_attempts, LEAST_CLAIMS)
