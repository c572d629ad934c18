"""Whoever cancels a job finds its runs that go on: by their slots while these are recent, later by a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryRunStore
from shared.domain.entry import single_entry
from shared.domain.instants import HOUR, MINUTE, SECOND, Instant
from shared.domain.job import RetryPolicy
from shared.domain.run import RunStatus
from shared.ports.run_store import Heartbeat, HeartbeatAnswer
from tests.unit.worker.workshop import Workshop

#: What a cancel looks for by slot.
RECENT_MS = 15 * MINUTE


class Noted(MemoryRunStore):
    """Notes when a heartbeat lists its run."""

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        self.listed = getattr(self, "listed", 0) + sum(beat.lists for beat in beats)
        return super().heartbeat(beats)


def found(shop: Workshop) -> list[str]:
    since = Instant(shop.clock.now() - RECENT_MS)
    return [run.run_id for run in shop.run_store.alive("owner/job", since=since)]


def test_a_run_is_found_as_long_as_it_goes_on_and_listed_once(shop: Workshop) -> None:
    store = Noted(shop.tables)
    dispatch = shop.dispatch(shop.put_job(timeout_ms=2 * HOUR))
    executor = shop.executor(run_store=store)
    live, _ = shop.begin(executor)

    for _ in range(60 * 60):
        assert found(shop) == [dispatch.run_id]
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
    assert store.listed == 1

    executor.end(live, succeeded())
    executor.finish_once()
    assert found(shop) == []
    assert shop.tables.alive["owner/job"] == {}


def test_a_run_of_some_minutes_is_never_listed_for_that_is_a_write(shop: Workshop) -> None:
    store = Noted(shop.tables)
    shop.dispatch(shop.put_job(timeout_ms=HOUR))
    executor = shop.executor(run_store=store)
    live, _ = shop.begin(executor)
    for _ in range(4 * 60):
        shop.clock.advance(SECOND)
        executor.heartbeat_once()

    executor.end(live, succeeded())
    executor.finish_once()

    assert store.listed == 0


def test_a_run_that_waits_for_its_next_attempt_is_found_and_leaves_the_list_with_its_end(shop: Workshop) -> None:
    policy = RetryPolicy(max_attempts=2, base_ms=10 * SECOND, cap_ms=10 * SECOND)
    dispatch = shop.dispatch(shop.put_job(timeout_ms=HOUR, retry=policy))
    shop.target.answer = lambda _: failed("http_503", "busy")
    executor = shop.executor()
    shop.run_all(executor)

    shop.clock.advance(HOUR)
    assert found(shop) == [dispatch.run_id]
    shop.target.answer = lambda _: succeeded()
    shop.run_all(executor)

    assert found(shop) == []
    assert shop.tables.alive["owner/job"] == {}


def test_a_run_that_was_taken_over_leaves_the_list_with_its_end(shop: Workshop) -> None:
    shop.dispatch(shop.put_job(timeout_ms=HOUR))
    shop.begin(shop.executor())
    shop.clock.advance(HOUR)
    executor = shop.executor()
    live, _ = shop.begin(executor)
    assert found(shop) == [live.run.run_id]

    executor.end(live, succeeded())
    executor.finish_once()

    assert found(shop) == []
    assert shop.tables.alive["owner/job"] == {}


def test_a_run_that_was_asked_for_leaves_the_list_with_its_end(shop: Workshop) -> None:
    """It waits for its first claim, as token 0."""
    job = shop.put_job()
    dispatch = shop.dispatch(job, is_single=True)
    waiting = replace(dispatch.row(RunStatus.WAITING), token=0, claim_id="plan", lease_until=dispatch.fire_at)
    entry = single_entry(waiting, shard=0, lane="default")
    shop.run_store.plan(waiting, entry, seen=None)
    assert found(shop) == [dispatch.run_id]

    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert shop.tables.alive["owner/job"] == {}
