"""Any sequence of calls gives what a dict and a sort would give."""

from __future__ import annotations

from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from functions.scheduler.wheel import TimingWheel, level, timing_wheel

KEYS = st.integers(0, 39).map(str)
# Around the edges of levels and far beyond the last, backwards too.
DISTANCES_MS = st.one_of(
    st.integers(-30, 60),
    st.integers(-2_000, 4_000),
    st.integers(-(10**6), 10**7),
    st.builds(lambda exponent, off: 2**exponent + off, st.integers(0, 40), st.integers(-11, 11)),
)


WIDTHS = st.sets(st.integers(1, 12), min_size=1, max_size=4).map(lambda bits: tuple(sorted(bits)))


class WheelBesideADict(RuleBasedStateMachine):
    """Small buckets and a small budget, so that a few timers meet every level, every crowd and every half-done call."""

    def __init__(self) -> None:
        super().__init__()
        self.small = mock.patch.multiple(level, CALM=2, FULL=3, _PROBES=2)
        self.small.start()
        self.budget = mock.patch.multiple(timing_wheel, MOVES=3, FULL=3)
        self.budget.start()

    def teardown(self) -> None:
        self.small.stop()
        self.budget.stop()

    @initialize(tick_ms=st.sampled_from([1, 7, 10]), bits=WIDTHS, start_ms=st.integers(0, 10**5))
    def make(self, tick_ms: int, bits: tuple[int, ...], start_ms: int) -> None:
        self.wheel = TimingWheel(tick_ms=tick_ms, start_ms=start_ms, coarse_bits=bits)
        self.tick_ms, self.now_ms = tick_ms, start_ms
        self.model: dict[str, int] = {}

    @rule(keys=st.lists(KEYS, min_size=1, max_size=20), distance_ms=DISTANCES_MS, spread_ms=st.integers(0, 12))
    def schedule(self, keys: list[str], distance_ms: int, spread_ms: int) -> None:
        for position, key in enumerate(keys):
            due_ms = self.now_ms + distance_ms + position * spread_ms % 13
            self.wheel.schedule(key, due_ms)
            self.model[key] = due_ms

    @rule(key=KEYS)
    def cancel(self, key: str) -> None:
        assert self.wheel.cancel(key) == (self.model.pop(key, None) is not None)

    @rule(distance_ms=DISTANCES_MS, limit=st.integers(1, 8))
    def expire_once(self, distance_ms: int, limit: int) -> None:
        self.now_ms += distance_ms
        self.take(limit)

    @rule(distance_ms=DISTANCES_MS, limit=st.integers(1, 8))
    def expire_all(self, distance_ms: int, limit: int) -> None:
        self.now_ms += distance_ms
        for _ in range(10 + 20 * len(self.model)):
            if self.wheel.next_due(self.now_ms) != self.now_ms:
                break
            self.take(limit)
        else:
            raise AssertionError("the wheel makes no progress")
        assert all(due_ms > self.now_ms for due_ms in self.model.values())

    @rule(distance_ms=st.integers(-11, 11), limit=st.integers(1, 8))
    def come_to_the_first_timer(self, distance_ms: int, limit: int) -> None:
        if self.model:
            self.expire_all(min(self.model.values()) + distance_ms - self.now_ms, limit)

    @rule()
    def sleep_until_the_hint(self) -> None:
        hint_ms = self.wheel.next_due(self.now_ms)
        if hint_ms is not None:
            assert hint_ms <= max(self.now_ms, min(self.model.values()))
            self.now_ms = hint_ms

    def take(self, limit: int) -> None:
        expired = self.wheel.expire(self.now_ms, limit=limit)
        assert len(expired) <= limit
        for key, due_ms in expired:
            assert self.model.pop(key) == due_ms <= self.now_ms
        ticks = [due_ms // self.tick_ms for _, due_ms in expired]
        assert ticks == sorted(ticks)
        if ticks and self.model:
            assert ticks[-1] <= min(self.model.values()) // self.tick_ms

    @invariant()
    def the_wheel_holds_what_the_dict_holds(self) -> None:
        if hasattr(self, "wheel"):
            assert len(self.wheel) == len(self.model)
            assert all(self.wheel.due(key) == self.model.get(key) for key in map(str, range(40)))
            places = [key for row in self.wheel._levels for bucket in row.buckets.values() for key in bucket]
            places += [
                key for row in self.wheel._levels for more in row._filled.values() for one in more for key in one
            ]
            assert sorted(places) == sorted(self.model)
            assert all(row._first <= min(row.buckets, default=level.NEVER) for row in self.wheel._levels)
            assert all(self.wheel._coarse_ms <= row.first_ms() for row in self.wheel._levels[2:])
            assert all(bucket for row in self.wheel._levels for bucket in row.buckets.values())
            assert all(all(more) and more for row in self.wheel._levels for more in row._filled.values())


TestAnyHistory = WheelBesideADict.TestCase
TestAnyHistory.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
