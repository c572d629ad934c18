"""SQS drops a message four days after it was sent, whatever hides it meanwhile; no run may be left without one."""

from __future__ import annotations

from functions.worker.targets import failed
from shared.domain.instants import DAY, HOUR, SECOND
from shared.domain.job import RetryPolicy
from shared.domain.run import RunStatus
from shared.schema import LANE_RETENTION_DAYS
from tests.unit.worker.workshop import Workshop


def test_a_message_that_sqs_may_drop_before_the_run_has_ended_is_exchanged_for_a_new_one(shop: Workshop) -> None:
    policy = RetryPolicy(max_attempts=20, base_ms=5 * SECOND, cap_ms=5 * SECOND, max_age_ms=7 * DAY)
    dispatch = shop.dispatch(shop.put_job(timeout_ms=11 * HOUR, retry=policy))
    executor = shop.executor()
    sent_at = shop.clock.now()

    for _ in range(9):
        live, _ = shop.begin(executor)
        for _ in range(4_000):
            shop.clock.advance(9 * SECOND)
            executor.heartbeat_once()
        executor.end(live, failed("http_503", "busy"))
        executor.finish_once()
        if not len(shop.queue):
            break
        shop.clock.advance(6 * SECOND)

    run = shop.run_of(dispatch)
    assert run.status is RunStatus.WAITING
    # The wait has an entry, which sends a new message; and it came long before the old one was gone.
    assert [entry.job_key for entry in shop.tables.entries[0].values()] == [dispatch.job_key]
    assert shop.clock.now() - sent_at < (LANE_RETENTION_DAYS - 1) * DAY


def test_a_run_that_begins_with_an_old_message_gets_a_new_one_first(shop: Workshop) -> None:
    """Nobody worked the lane for days: were the next worker to die, no message would be left to tell of the run."""
    dispatch = shop.dispatch(shop.put_job(timeout_ms=11 * HOUR))
    shop.clock.advance(3 * DAY)
    executor = shop.executor()

    shop.run_all(executor)

    run = shop.run_of(dispatch)
    assert (run.status, run.attempt) == (RunStatus.WAITING, 1)
    assert len(shop.queue) == 0
    [entry] = shop.tables.entries[0].values()
    assert entry.job_key == dispatch.job_key

    again = shop.dispatch(shop.tables.jobs[dispatch.job_key], dispatch.slot, is_single=True)
    shop.run_all(executor)
    run = shop.run_of(again)
    assert (run.status, run.attempt) == (RunStatus.SUCCEEDED, 1)
