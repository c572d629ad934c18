"""The run of a dead worker is taken over by who watched its row stand still for a lease; no clocks are compared."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.targets import succeeded
from functions.worker.watched import MOST_WATCHED, Seen, Watched
from shared.adapters.memory import MemoryRunStore
from shared.domain.errors import OutcomeUnknown
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.keys import RunKey
from shared.domain.run import Run, RunStatus, has_fallen_silent
from shared.domain.timing import CLOCK_BOUND_MS
from shared.ports import Clock
from shared.schema import MAX_RECEIVE_COUNT
from tests.unit.worker.workshop import Workshop


class Skewed:
    """The clock of another host."""

    def __init__(self, clock: Clock, offset_ms: int) -> None:
        self._clock, self._offset_ms = clock, offset_ms

    def now(self) -> Instant:
        return Instant(self._clock.now() + self._offset_ms)

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


def live_on(shop: Workshop, *executors: Executor) -> list[LiveRun]:
    """A second of some workers."""
    claimed = []
    for executor in executors:
        claimed += shop.claim(executor)
        executor.heartbeat_once()
        claimed += executor.look_again_once()
    shop.clock.advance(SECOND)
    return claimed


def test_by_default_the_run_of_a_dead_worker_is_taken_over_within_45_seconds(shop: Workshop) -> None:
    """At worst it dies right after a heartbeat."""
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    dead, others = shop.executor(), [shop.executor() for _ in range(3)]
    shop.begin(dead)
    shop.clock.advance(shop.settings.lease_ms // 3 + 1)
    dead.heartbeat_once()
    died_at = shop.clock.now()

    receives = 0
    while not (taken := live_on(shop, *others)):
        assert shop.clock.now() - died_at < 5 * MINUTE
        [message] = shop.queue._messages.values()
        receives = message.receive_count

    assert shop.clock.now() - died_at <= 45 * SECOND
    [live] = taken
    assert (live.run.token, live.run.attempt) == (2, 2)
    assert receives < MAX_RECEIVE_COUNT / 20
    shop.run_all(others[0])
    assert shop.run_of(dispatch).token == 2


@pytest.mark.parametrize("offset_ms", [-2 * CLOCK_BOUND_MS, -CLOCK_BOUND_MS, 0, CLOCK_BOUND_MS, 2 * CLOCK_BOUND_MS - 1])
def test_a_worker_that_still_trusts_its_lease_is_not_overtaken_whatever_the_clock_of_who_watches_says(
    shop: Workshop, offset_ms: int
) -> None:
    """Its heartbeats do not get through, and its message came again."""
    shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    holder, other = shop.executor(), shop.executor(clock=Skewed(shop.clock, offset_ms))
    live, _ = shop.begin(holder)

    for _ in range(1_000):
        shop.claim(other)
        other.look_again_once()
        if len(other.runs):
            break
        shop.clock.advance(SECOND // 2)

    assert shop.clock.monotonic() > live.trusted_until
    assert len(other.runs) == 1


def test_a_run_that_gives_signs_of_life_meanwhile_is_left_alone(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    holder, other = shop.executor(), shop.executor()
    live, _ = shop.begin(holder)
    shop.clock.advance(shop.settings.lease_ms)
    shop.claim(other)
    assert other.watched == 1
    holder.heartbeat_once()

    for _ in range(60):
        shop.clock.advance(SECOND)
        assert other.look_again_once() == []
        holder.heartbeat_once()
        assert shop.claim(other) == []

    holder.end(live, succeeded())
    holder.finish_once()
    assert (shop.run_of(dispatch).status, shop.run_of(dispatch).token) == (RunStatus.SUCCEEDED, 1)


def test_the_message_of_a_run_that_ended_while_it_was_watched_is_done_with(shop: Workshop) -> None:
    shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    holder, other = shop.executor(), shop.executor()
    live, _ = shop.begin(holder)
    shop.clock.advance(shop.settings.lease_ms)
    shop.claim(other)
    holder.end(live, succeeded())
    holder.finish_once()

    shop.clock.advance(shop.settings.lease_ms + SECOND)
    assert other.look_again_once() == []

    assert len(shop.queue) == 0
    assert other.counts["duplicate"] == 1


def test_what_cannot_be_looked_at_again_comes_again_by_itself(shop: Workshop) -> None:
    class Out(MemoryRunStore):
        is_out = False

        def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
            if self.is_out:
                raise OutcomeUnknown("get_many", "out")
            return super().get_many(keys)

    store = Out(shop.tables)
    shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    shop.begin(shop.executor())
    other = shop.executor(run_store=store)
    shop.clock.advance(shop.settings.lease_ms)
    shop.claim(other)
    store.is_out = True
    shop.clock.advance(shop.settings.lease_ms + SECOND)
    with pytest.raises(OutcomeUnknown):
        other.look_again_once()
    store.is_out = False

    taken = [live_on(shop, other) for _ in range(40)]

    assert [live.run.token for lives in taken for live in lives] == [2]


def test_no_more_is_watched_than_there_is_room_for(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    [live] = shop.claim(shop.executor())
    watched = Watched(shop.settings.lease_seconds)
    seen = Seen(claim=live, row=live.run, at=0.0)  # type: ignore[arg-type]

    added = [watched.add(seen) for _ in range(MOST_WATCHED + 1)]

    assert added == [True] * MOST_WATCHED + [False]
    assert len(watched) == MOST_WATCHED


def test_only_a_running_row_that_stood_still_for_a_lease_which_is_over_has_fallen_silent(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    [live] = shop.claim(shop.executor())
    row, lease_ms = live.run, shop.settings.lease_ms
    over = Instant(row.lease_until + 1)

    def judge(now: Instant = over, watched_ms: float = lease_ms + 1, **changes: object) -> bool:
        changed = replace(row, **changes)  # type: ignore[arg-type]
        return has_fallen_silent(row, changed, watched_ms=watched_ms, lease_ms=lease_ms, now=now)

    assert judge()
    assert not judge(watched_ms=lease_ms)
    assert not judge(now=row.lease_until)
    assert not judge(lease_until=Instant(row.lease_until + 1))
    assert not judge(token=2)
    assert not judge(claim_id="another")
    assert not judge(status=RunStatus.WAITING)
