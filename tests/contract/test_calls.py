from __future__ import annotations

from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from shared.adapters.aws.calls import Calls, Patience
from shared.adapters.memory import SeededRandomness
from shared.domain.errors import OutcomeUnknown, StoreThrottled
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
