from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from shared.adapters.aws.calls import Calls, Patience, RetryBudget
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import OutcomeUnknown, StoreError, StoreThrottled
from shared.domain.instants import Instant

THROTTLE = ClientError({"Error": {"Code": "ThrottlingException"}}, "Query")
NO_ANSWER = ReadTimeoutError(endpoint_url="http://127.0.0.1")


class RecordingClock:
    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> Instant:
        return Instant(0)

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


class LongestPause:
    def fraction(self) -> float:
        return 1.0

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)


def failing(*errors: Exception) -> Callable[[], str]:
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return call


def test_the_bound_of_a_pause_doubles_up_to_its_cap() -> None:
    clock = RecordingClock()
    patience = Patience(attempts=6, base_seconds=0.1, cap_seconds=0.5)

    assert Calls(clock, LongestPause(), patience).repeat("op", failing(*[THROTTLE] * 5)) == "answer"
    assert clock.pauses == [0.1, 0.2, 0.4, 0.5, 0.5]


def attempts_made(calls: Calls, failure: Exception) -> int:
    made = 0

    def call() -> None:
        nonlocal made
        made += 1
        raise failure

    with pytest.raises(StoreError):
        calls.repeat("op", call)
    return made


@pytest.mark.parametrize(("failure", "attempts"), [(THROTTLE, 10), (NO_ANSWER, 3)])
def test_while_a_store_is_out_calls_are_soon_made_once_each(failure: Exception, attempts: int) -> None:
    budget = RetryBudget(most=2 * (attempts - 1) + 1)
    calls = [Calls(RecordingClock(), LongestPause(), Patience(budget=budget)) for _ in range(2)]

    assert [attempts_made(each, failure) for each in calls * 2] == [attempts, attempts, 2, 1]


def test_answers_earn_the_budget_back_up_to_its_most() -> None:
    budget = RetryBudget(most=2, earned=0.5)
    calls = Calls(RecordingClock(), LongestPause(), Patience(budget=budget))
    assert [attempts_made(calls, THROTTLE) for _ in range(2)] == [3, 1]

    for _ in range(100):
        calls.repeat("op", failing())
    assert [attempts_made(calls, THROTTLE) for _ in range(2)] == [3, 1]


def test_a_repeat_that_succeeds_costs_its_price() -> None:
    calls = Calls(RecordingClock(), LongestPause(), Patience(budget=RetryBudget(most=2, earned=0)))
    assert calls.repeat("op", failing(THROTTLE)) == "answer"
    assert attempts_made(calls, THROTTLE) == 2


def test_pauses_are_spread_over_their_whole_bound() -> None:
    clock = RecordingClock()
    patience = Patience(attempts=201, base_seconds=1.0, cap_seconds=1.0)

    Calls(clock, SeededRandomness(1), patience).repeat("op", failing(*[THROTTLE] * 200))

    assert min(clock.pauses) < 0.05
    assert max(clock.pauses) > 0.95


def test_the_last_refusal_is_not_waited_for() -> None:
    clock = RecordingClock()

    with pytest.raises(StoreThrottled):
        Calls(clock, LongestPause(), Patience(attempts=3)).repeat("op", failing(*[THROTTLE] * 3))
    assert len(clock.pauses) == 2


def test_calls_without_an_answer_have_a_bound_of_their_own() -> None:
    patience = Patience(attempts=10, unanswered_attempts=2)

    with pytest.raises(OutcomeUnknown):
        Calls(RecordingClock(), LongestPause(), patience).repeat("op", failing(NO_ANSWER, THROTTLE, NO_ANSWER))


def test_a_call_made_once_is_not_made_again() -> None:
    calls = Calls(RecordingClock(), LongestPause())

    with pytest.raises(StoreThrottled):
        calls.once("op", failing(THROTTLE))
