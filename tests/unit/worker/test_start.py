"""Hold and start: never early, never on a lease that has run out, never against what the job says."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import Job, JobState
from shared.domain.run import RunStatus
from shared.domain.schedules import Cron
from tests.unit.worker.workshop import Workshop


def test_a_run_is_held_until_fire_at_to_the_millisecond(shop: Workshop) -> None:
    slot = Instant(shop.clock.now() + 300)
    dispatch = shop.dispatch(shop.put_job(early_ms=300), slot)
    executor = shop.executor()
    shop.claim(executor)

    shop.clock.advance(299)
    assert executor.start_due_once() == []
    shop.clock.advance(1)
    shop.start_all(executor)
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert run.started_at == slot
    assert run.drift is not None
    assert run.drift["total"] == 0


def test_held_runs_start_in_the_order_of_their_time(shop: Workshop) -> None:
    now = shop.clock.now()
    for early_ms in (250, 50, 150):
        shop.dispatch(shop.put_job(f"job-{early_ms}", early_ms=early_ms), Instant(now + early_ms))
    executor = shop.executor()
    shop.claim(executor)
    shop.clock.advance(SECOND)

    shop.start_all(executor)

    assert [call.fire_at - now for call in shop.target.calls] == [50, 150, 250]


def test_a_slot_with_jitter_starts_at_fire_at_and_keeps_its_slot(shop: Workshop) -> None:
    slot = shop.clock.now()
    shop.dispatch(shop.put_job(), slot, fire_at=Instant(slot + 100))
    executor = shop.executor()
    shop.claim(executor)
    assert executor.start_due_once() == []
    shop.clock.advance(100)

    shop.start_all(executor)

    [call] = shop.target.calls
    assert (call.slot, call.fire_at) == (slot, slot + 100)


def test_a_clock_that_jumps_to_the_slot_and_steps_back_starts_it_once(shop: Workshop) -> None:
    """B25."""
    slot = Instant(shop.clock.now() + 900)
    dispatch = shop.dispatch(shop.put_job(early_ms=900), slot)
    executor = shop.executor()
    deliveries = shop.receive()
    executor.claim_once(deliveries)

    shop.clock.step(900)
    shop.start_all(executor)
    executor.finish_once()
    shop.clock.step(-1000)
    executor.claim_once(shop.deliver_again(deliveries))
    shop.clock.advance(1000)
    shop.start_all(executor)

    assert len(shop.target.calls) == 1
    started_at = shop.run_of(dispatch).started_at
    assert started_at is not None
    assert started_at >= slot


def test_a_clock_set_back_between_waking_and_starting_holds_the_run_again(shop: Workshop) -> None:
    slot = Instant(shop.clock.now() + 100)
    shop.dispatch(shop.put_job(early_ms=100), slot)
    executor = shop.executor()
    shop.claim(executor)
    shop.clock.advance(100)
    [live] = executor.start_due_once()
    shop.clock.step(-1)

    executor.execute(live)
    assert shop.target.calls == []
    assert executor.start_due_once() == []
    shop.clock.advance(1)
    shop.start_all(executor)
    assert len(shop.target.calls) == 1


def test_a_clock_set_back_while_the_run_takes_its_place_holds_the_run_again_and_keeps_the_place(shop: Workshop) -> None:
    class Corrected(MemoryJobStore):
        def hold(self, *given: object, **named: object) -> object:  # type: ignore[override]
            shop.clock.step(-500)
            return super().hold(*given, **named)  # type: ignore[arg-type]

    slot = Instant(shop.clock.now() + 100)
    shop.dispatch(shop.put_job(early_ms=100, overlap="skip"), slot)
    executor = shop.executor(job_store=Corrected(shop.tables))
    shop.claim(executor)
    shop.clock.advance(100)
    shop.start_all(executor)
    assert shop.target.calls == []
    assert any(shop.tables.holders.values())

    shop.clock.advance(499)
    shop.start_all(executor)
    assert shop.target.calls == []
    shop.clock.advance(1)
    shop.start_all(executor)
    assert len(shop.target.calls) == 1


def test_a_run_never_ends_before_it_started(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())
    executor = shop.executor()
    live, call = shop.begin(executor)
    shop.clock.step(-500)
    executor.end(live, shop.target.call(call))
    executor.finish_once()

    run = shop.run_of(dispatch)
    assert run.ended_at == run.started_at


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({"state": JobState.CANCELLED}, RunStatus.CANCELLED, "cancelled"),
        ({"state": JobState.PAUSED}, RunStatus.SKIPPED, "paused"),
        ({"schedule": Cron(expression="0 0 1 1 *", timezone="UTC")}, RunStatus.SKIPPED, "superseded"),
    ],
)
def test_a_job_that_says_no_ends_the_claimed_run_unstarted(
    shop: Workshop, changes: dict[str, object], status: RunStatus, reason: str
) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    shop.tables.jobs[job.job_key] = replace(job, **changes)  # type: ignore[arg-type]

    shop.run_all(shop.executor())

    run = shop.run_of(dispatch)
    assert (run.status, run.reason, run.started_at, run.attempts) == (status, reason, None, ())
    assert run.expires_at == shop.clock.now() + shop.settings.run_retention_ms
    assert shop.target.calls == []
    assert len(shop.queue) == 0


def test_a_job_that_is_gone_cancels_the_run(shop: Workshop) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    del shop.tables.jobs[job.job_key]

    shop.run_all(shop.executor())

    assert (shop.run_of(dispatch).status, shop.run_of(dispatch).reason) == (RunStatus.CANCELLED, "cancelled")


def test_a_single_fire_runs_though_the_schedule_knows_nothing_of_its_slot(shop: Workshop) -> None:
    job = shop.put_job()
    shop.clock.advance(12_345)
    dispatch = shop.dispatch(job, is_single=True)

    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_a_slot_of_before_the_change_runs_with_the_current_definition(shop: Workshop) -> None:
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    shop.clock.advance(10)
    now = shop.clock.now()
    shop.tables.jobs[job.job_key] = replace(
        job, from_at=now, generation=now, payload="new", schedule=Cron(expression="0 0 1 1 *", timezone="UTC")
    )

    shop.run_all(shop.executor())

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert [call.payload for call in shop.target.calls] == ["new"]


def test_the_job_is_read_after_the_claim(shop: Workshop) -> None:
    """A cancel that is written between the two is obeyed; read first, it would be missed by both sides."""
    job = shop.put_job()
    dispatch = shop.dispatch(job)
    rows_at_read = []

    class Watched(MemoryJobStore):
        def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
            rows_at_read.append(shop.run_store.get(dispatch.key))
            return super().get_many(job_keys)

    shop.run_all(shop.executor(job_store=Watched(shop.tables)))

    [row] = rows_at_read
    assert row is not None
    assert row.status is RunStatus.RUNNING


def test_a_job_that_cannot_be_read_is_read_again_and_its_run_is_not_lost(shop: Workshop) -> None:
    dispatch = shop.dispatch(shop.put_job())

    class FailsOnce(MemoryJobStore):
        failures = 1

        def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
            if self.failures:
                self.failures -= 1
                raise StoreThrottled("get_many", "too fast")
            return super().get_many(job_keys)

    executor = shop.executor(job_store=FailsOnce(shop.tables))
    with pytest.raises(StoreThrottled):
        shop.claim(executor)
    assert executor.start_due_once() == []

    executor.read_once()
    shop.start_all(executor)
    executor.finish_once()

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


def test_a_worker_that_slept_through_its_lease_starts_nothing_before_a_heartbeat_is_accepted(shop: Workshop) -> None:
    shop.dispatch(shop.put_job())
    executor = shop.executor()
    shop.claim(executor)
    shop.clock.advance(shop.settings.lease_ms)

    shop.start_all(executor)
    assert shop.target.calls == []

    executor.heartbeat_once()
    shop.clock.advance(SECOND)
    shop.start_all(executor)
    assert len(shop.target.calls) == 1


def test_a_worker_that_slept_until_another_took_over_never_calls_the_target(shop: Workshop) -> None:
    """I7: the tokens a target sees only rise."""
    shop.dispatch(shop.put_job())
    deliveries = shop.receive()
    sleeper, other = shop.executor(), shop.executor()
    sleeper.claim_once(deliveries)
    shop.clock.advance(3 * MINUTE)
    other.claim_once(deliveries)

    shop.start_all(other)
    shop.start_all(sleeper)
    sleeper.heartbeat_once()
    shop.clock.advance(SECOND)
    shop.start_all(sleeper)

    assert [call.token for call in shop.target.calls] == [2]
    assert sleeper.counts["fenced"] == 1
    assert len(sleeper.runs) == 0
