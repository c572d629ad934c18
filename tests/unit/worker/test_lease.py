"""A run belongs to the worker that holds its lease: heartbeats keep it, and who lost it writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from functions.worker.targets import succeeded
from shared.adapters.memory import MemoryRunStore
from shared.domain.instants import MINUTE, SECOND
from shared.domain.run import RunStatus
from shared.ports import HeartbeatAnswer
from shared.ports.run_store import Heartbeat
from tests.unit.worker.workshop import Workshop


def test_a_fenced_finish_is_counted_and_discarded_and_its_message_left_alone(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    first, second = shop.executor(), shop.executor()
    live, _ = shop.begin(first)
    shop.clock.advance(3 * MINUTE)
    [again] = shop.receive()
    second.claim_once([again])

    first.end(live, succeeded("of the past"))
    first.finish_once()

    assert first.counts["fenced"] == 1
    assert len(first.runs) == 0
    run = shop.run_of(dispatch)
    assert (run.status, run.token, run.output) == (RunStatus.RUNNING, 2, None)
    assert len(shop.queue) == 1

    shop.start_all(second)
    second.finish_once()
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert len(shop.queue) == 0


def test_a_refused_heartbeat_cancels_the_run_and_nothing_more_is_written(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    first, second = shop.executor(), shop.executor()
    live, call = shop.begin(first)
    shop.clock.advance(3 * MINUTE)
    second.claim_once(shop.receive())
    seen = shop.run_of(dispatch)

    first.heartbeat_once()

    assert call.cancelled.is_set()
    assert first.counts["fenced"] == 1
    assert not first.end(live, succeeded())
    assert first.finish_once() == 0
    assert shop.run_of(dispatch) == seen


def test_a_heartbeat_comes_every_third_of_the_lease_and_extends_lease_and_visibility(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    executor = shop.executor()
    live, call = shop.begin(executor)
    claimed_until = shop.run_of(dispatch).lease_until

    shop.clock.advance(shop.settings.lease_ms // 3 - 1)
    executor.heartbeat_once()
    assert shop.run_of(dispatch).lease_until == claimed_until

    shop.clock.advance(2)
    call.report("half way")
    executor.heartbeat_once()
    run = shop.run_of(dispatch)
    assert run.lease_until == shop.clock.now() + shop.settings.lease_ms
    assert (run.progress, run.started_at) == ("half way", live.started_at)
    shop.clock.advance(shop.settings.lease_ms - 1)
    assert shop.receive() == []


def test_a_run_of_90_seconds_survives_on_a_lease_of_20(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, lease_ms=20 * SECOND)
    dispatch = shop.dispatch(shop.put_job(timeout_ms=10 * MINUTE))
    executor, other = shop.executor(), shop.executor()
    live, _ = shop.begin(executor)
    for _ in range(90):
        shop.clock.advance(SECOND)
        executor.heartbeat_once()
        assert shop.claim(other) == []

    executor.end(live, succeeded())
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert shop.run_of(dispatch).token == 1


def test_a_heartbeat_refused_because_the_end_was_stored_meanwhile_fences_nothing(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())

    class EndsFirst(MemoryRunStore):
        def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
            shop.start_all(executor)
            return [HeartbeatAnswer.FENCED for _ in beats]

    executor = shop.executor(run_store=EndsFirst(shop.tables))
    shop.claim(executor)
    shop.clock.advance(10 * SECOND)

    executor.heartbeat_once()
    executor.finish_once()

    assert executor.counts["fenced"] == 0
    assert len(shop.queue) == 0
