"""A crowd in one tick costs many calls, each of bounded work. Work is counted, not timed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from functions.scheduler.wheel import TimingWheel
from functions.scheduler.wheel.level import CALM, Level
from functions.scheduler.wheel.timing_wheel import MOVES
from tests.unit.wheel.draining import drain

START_MS = 1_795_983_808_520
BURST_MS = START_MS + 1_800_000
CROWD = 100_000
LIMIT = 500


class Work:
    """Timers touched since the last look: moved, taken out or looked through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.touched = 0
        for name in ("take_first", "take_due", "_take_some"):
            self._count(monkeypatch, name)
        add_all = Level.add_all

        def counted(level: Level, timers: Iterable[tuple[str, int]]) -> None:
            timers = list(timers)
            self.touched += len(timers)
            add_all(level, timers)

        monkeypatch.setattr(Level, "add_all", counted)

    def _count(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        method = getattr(Level, name)

        def counted(level: Level, *arguments: Any) -> Any:
            if name == "_take_some":
                self.touched += len(arguments[0])
            answer = method(level, *arguments)
            self.touched += len(answer)
            return answer

        monkeypatch.setattr(Level, name, counted)

    def since(self) -> int:
        touched, self.touched = self.touched, 0
        return touched


def crowded_wheel(offset_ms: int = 0) -> TimingWheel:
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(CROWD):
        wheel.schedule(f"{number}", BURST_MS + (offset_ms or number % 10))
    return wheel


@pytest.mark.parametrize("step_ms", [10, 1_000, 3_600_000])
def test_no_call_does_more_than_its_budget(monkeypatch: pytest.MonkeyPatch, step_ms: int) -> None:
    wheel, work = crowded_wheel(), Work(monkeypatch)
    most, came = 0, set[str]()
    for now_ms in range(BURST_MS - 20 * step_ms, BURST_MS + 40 * step_ms, step_ms):
        while wheel.next_due(now_ms) == now_ms:
            came.update(key for key, _ in wheel.expire(now_ms, limit=LIMIT))
            most = max(most, work.since())

    assert len(came) == CROWD
    # A timer moved is touched twice (out of one level, into the other), one handed out twice (by both ways of taking).
    assert most <= 2 * MOVES + 2 * LIMIT + 2 * CALM


def test_a_crowd_met_on_time_is_handed_out_without_a_pause() -> None:
    """Its bucket was opened ahead, so that from its tick on every call gives a full answer."""
    wheel = crowded_wheel()
    for now_ms in range(BURST_MS - 30_000, BURST_MS, 10):
        assert wheel.expire(now_ms, limit=LIMIT) == []

    answers = [len(wheel.expire(BURST_MS + 9, limit=LIMIT)) for _ in range(CROWD // LIMIT)]

    assert answers == [LIMIT] * (CROWD // LIMIT)
    assert len(wheel) == 0


def test_a_crowd_that_is_not_due_yet_is_not_looked_through_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel, work = crowded_wheel(offset_ms=9), Work(monkeypatch)
    assert drain(wheel, BURST_MS + 1) == []
    work.since()
    for _ in range(1_000):
        assert wheel.expire(BURST_MS + 8) == []

    assert work.since() == 0
    assert len(drain(wheel, BURST_MS + 9)) == CROWD


def test_behind_a_jump_buckets_are_opened_no_faster_than_they_are_emptied() -> None:
    """Else every late timer would get a tick of its own long before it is handed out."""
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(CROWD):
        wheel.schedule(f"{number}", START_MS + number * 36)
    now_ms, most = START_MS + 3_600_000, 0
    while wheel.next_due(now_ms) == now_ms:
        wheel.expire(now_ms, limit=100)
        most = max(most, len(wheel._levels[1]))

    assert len(wheel) == 0
    assert most <= 3 * 128


def test_a_crowd_can_be_cancelled_and_moved_in_any_order() -> None:
    wheel = crowded_wheel()
    for number in range(0, CROWD, 2):
        assert wheel.cancel(f"{number}")
    for number in range(CROWD - 1, 0, -2):
        wheel.schedule(f"{number}", BURST_MS + 20)

    assert drain(wheel, BURST_MS + 19) == []
    assert sorted(int(key) for key, _ in drain(wheel, BURST_MS + 20)) == list(range(1, CROWD, 2))
    assert not any(level.buckets or level._filled for level in wheel._levels)


def test_no_dict_of_a_crowd_grows_so_large_that_resizing_it_is_felt() -> None:
    wheel = crowded_wheel()
    drain(wheel, BURST_MS - 1)

    assert max(len(bucket) for level in wheel._levels for bucket in level.buckets.values()) < 2**16
    assert len(wheel) == CROWD


def test_an_answer_is_short_only_while_the_hint_says_now() -> None:
    """A crowd scheduled for the past must be put in order first; the caller is told to come again."""
    wheel = TimingWheel(start_ms=START_MS)
    for number in range(CROWD):
        wheel.schedule(f"{number}", START_MS - 3_600_000 + number % 1_000)
    short = 0
    while len(wheel):
        short += len(wheel.expire(START_MS, limit=LIMIT)) < LIMIT
        assert wheel.next_due(START_MS) == (START_MS if len(wheel) else None)

    assert short > 0
