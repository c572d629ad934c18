"""Runs of one job beside each other: what starts, what waits and what is left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.targets import failed, succeeded
from shared.adapters.memory import MemoryJobStore
from shared.domain.errors import StoreThrottled
from shared.domain.instants import MINUTE, SECOND, Instant
from shared.domain.job import Job, RetryPolicy
from shared.domain.keys import RunKey
from shared.domain.message import Dispatch
from shared.domain.overlap import Holder
from shared.domain.run import RunStatus
from shared.ports import Hold
from shared.schema import MAX_RECEIVE_COUNT
from tests.unit.worker.workshop import Workshop

LATER = 150 * SECOND


def finish(executor: Executor, live: LiveRun) -> None:
    executor.end(live, succeeded())
    executor.finish_once()


def slot(shop: Workshop, job: Job, executor: Executor, *, after_ms: int = MINUTE) -> tuple[Dispatch, list[LiveRun]]:
    """The next slot of the job: dispatched when it is due."""
    keep_alive(shop, executor, after_ms)
    dispatch = shop.dispatch(job)
    return dispatch, shop.begin_all(executor)


def keep_alive(shop: Workshop, executor: Executor, ms: int) -> None:
    for _ in range(0, ms, 5 * SECOND):
        shop.clock.advance(min(5 * SECOND, ms))
        executor.heartbeat_once()


def status_of(shop: Workshop, dispatch: Dispatch) -> tuple[RunStatus, str | None]:
    run = shop.run_of(dispatch)
    return run.status, run.reason


def holders(shop: Workshop) -> list[Holder]:
    return [holder for held in shop.tables.holders.values() for holder in held.values()]


def ten_minutes(shop: Workshop, job: Job) -> list[tuple[Dispatch, int | None, int | None]]:
    """B11: a slot each minute, of runs that take 150 s: each with its start and end, in seconds."""
    executor = shop.executor()
    seen: dict[str, tuple[Dispatch, int | None, int | None]] = {}
    going: dict[str, tuple[LiveRun, int]] = {}
    for second in range(0, 15 * 60, 5):
        for run_id, (live, since) in list(going.items()):
            if second - since >= LATER // SECOND:
                finish(executor, live)
                del going[run_id]
                seen[run_id] = (live.dispatch, since, second)
        if second % 60 == 0 and second < 600:
            dispatch = shop.dispatch(job)
            seen[dispatch.run_id] = (dispatch, None, None)
        for live in shop.begin_all(executor):
            going[live.run.run_id] = (live, second)
        keep_alive(shop, executor, 5 * SECOND)
    return list(seen.values())


def test_of_runs_that_outlast_their_interval_skip_never_runs_two_and_records_the_others(shop: Workshop) -> None:
    runs = ten_minutes(shop, shop.put_job(overlap="skip"))

    ran = [(begin, end) for _, begin, end in runs if begin is not None and end is not None]
    assert ran == [(0, 150), (180, 330), (360, 510), (540, 690)]
    skipped = [dispatch for dispatch, begin, _ in runs if begin is None]
    assert [status_of(shop, each) for each in skipped] == [(RunStatus.SKIPPED, "overlap")] * 6
    assert len(shop.queue) == 0
    assert holders(shop) == []


def test_with_allow_each_slot_runs_under_its_own_id_and_nobody_is_counted(shop: Workshop) -> None:
    runs = ten_minutes(shop, shop.put_job())

    assert [(begin, end) for _, begin, end in runs] == [(60 * n, 60 * n + 150) for n in range(10)]
    assert len({dispatch.run_id for dispatch, _, _ in runs}) == 10
    assert shop.tables.holders == {}


def test_buffer_one_runs_one_after_the_other_and_keeps_one(shop: Workshop) -> None:
    runs = ten_minutes(shop, shop.put_job(overlap="buffer_one"))

    ran = sorted((begin, end) for _, begin, end in runs if begin is not None and end is not None)
    assert all(later[0] >= earlier[1] for earlier, later in pairwise(ran))
    # Each started within 5 s of the end of the one before.
    assert all(later[0] - earlier[1] <= 5 for earlier, later in pairwise(ran))
    skipped = [dispatch for dispatch, begin, _ in runs if begin is None]
    assert [status_of(shop, each) for each in skipped] == [(RunStatus.SKIPPED, "overlap")] * len(skipped)
    assert 0 < len(skipped) < 6


def test_a_limit_delays_and_fails_nothing(shop: Workshop) -> None:
    runs = ten_minutes(shop, shop.put_job(max_concurrent=2))

    ran = [(begin, end) for _, begin, end in runs if begin is not None and end is not None]
    assert len(ran) == 10
    for moment in range(0, 15 * 60, 5):
        assert sum(begin <= moment < end for begin, end in ran) <= 2
    assert {status_of(shop, dispatch) for dispatch, _, _ in runs} == {(RunStatus.SUCCEEDED, None)}
    assert shop.dead_letters.letters == []


def test_a_run_that_waits_for_a_place_is_no_attempt(shop: Workshop) -> None:
    job, executor = shop.put_job(max_concurrent=1), shop.executor()
    _, [first] = slot(shop, job, executor)
    second, begun = slot(shop, job, executor)
    assert begun == []
    assert status_of(shop, second) == (RunStatus.WAITING, "overlap")

    finish(executor, first)
    keep_alive(shop, executor, 5 * SECOND)
    [live] = shop.begin_all(executor)
    finish(executor, live)

    run = shop.run_of(second)
    assert (run.status, run.attempt, len(run.attempts)) == (RunStatus.SUCCEEDED, 1, 1)


def test_a_message_that_was_received_too_often_gives_way_to_an_entry(shop: Workshop) -> None:
    job, executor = shop.put_job(max_concurrent=1), shop.executor()
    slot(shop, job, executor)
    second = shop.dispatch(job, Instant(shop.clock.now() + 1), is_single=True)
    shop.clock.advance(SECOND)

    [delivery] = shop.receive()
    executor.claim_once([replace(delivery, receive_count=MAX_RECEIVE_COUNT // 2 + 1)])
    shop.start_all(executor)
    executor.finish_once()

    assert status_of(shop, second) == (RunStatus.WAITING, "overlap")
    [entry] = shop.tables.entries[0].values()
    assert entry.run_id == second.run_id


def test_the_later_run_cancels_the_earlier_and_starts_when_it_is_gone(shop: Workshop) -> None:
    job, executor = shop.put_job(overlap="cancel_other"), shop.executor()
    first, [running] = slot(shop, job, executor)
    second, begun = slot(shop, job, executor)
    assert begun == []
    assert status_of(shop, second)[0] is RunStatus.WAITING

    keep_alive(shop, executor, 10 * SECOND)
    assert running.cancelled.is_set()
    finish(executor, running)
    assert status_of(shop, first)[0] is RunStatus.CANCELLED
    assert [live.run.run_id for live in shop.begin_all(executor)] == [second.run_id]


def test_a_run_that_waits_for_its_next_attempt_goes_on_excluding_others(shop: Workshop) -> None:
    policy = RetryPolicy(max_attempts=2, base_ms=200 * SECOND)
    job, executor = shop.put_job(overlap="skip", retry=policy), shop.executor()
    shop.dispatch(job)
    [live] = shop.begin_all(executor)
    executor.end(live, replace(failed("http_5xx", "503"), retry_after_ms=100 * SECOND))
    executor.finish_once()

    second, begun = slot(shop, job, executor)

    assert begun == []
    assert status_of(shop, second) == (RunStatus.SKIPPED, "overlap")


def test_a_waiting_run_that_is_cancelled_leaves_its_place_at_once(shop: Workshop) -> None:
    policy = RetryPolicy(max_attempts=2, base_ms=200 * SECOND)
    job, executor = shop.put_job(overlap="skip", retry=policy), shop.executor()
    first = shop.dispatch(job)
    [live] = shop.begin_all(executor)
    executor.end(live, replace(failed("http_5xx", "503"), retry_after_ms=100 * SECOND))
    executor.finish_once()
    shop.run_store.request_cancel(first.key, at=shop.clock.now(), expires_at=Instant(shop.clock.now() + MINUTE))

    second, begun = slot(shop, job, executor)

    assert [each.run.run_id for each in begun] == [second.run_id]


def test_a_run_whose_worker_died_has_its_place_again_under_its_next_token(shop: Workshop) -> None:
    job = shop.put_job(overlap="skip")
    first, _ = slot(shop, job, shop.executor())
    shop.clock.advance(shop.settings.lease_ms + shop.settings.clock_bound_ms + 1)

    [live] = shop.begin_all(shop.executor())

    assert (live.run.run_id, live.run.token) == (first.run_id, 2)
    assert [(each.run_id, each.token) for each in holders(shop)] == [(first.run_id, 2)]


def test_a_place_that_was_lost_in_silence_fences_the_run(shop: Workshop) -> None:
    job, executor = shop.put_job(overlap="skip"), shop.executor()
    _, [silent] = slot(shop, job, executor)
    assert silent.hold is not None
    shop.job_store.release([silent.hold])
    other = Hold(job.job_key, Holder("other", 1, Instant(shop.clock.now() + MINUTE)))
    assert shop.job_store.hold(other, limit=1, now=shop.clock.now(), clock_bound_ms=0) == ()

    shop.clock.advance(shop.settings.lease_ms // 3)
    executor.heartbeat_once()

    assert silent.cancelled.is_set()
    assert executor.counts["fenced"] == 1
    assert not executor.end(silent, succeeded())


def test_a_worker_that_died_between_finish_and_release_blocks_nobody(shop: Workshop) -> None:
    job, executor = shop.put_job(overlap="skip"), shop.executor()
    first, [live] = slot(shop, job, executor)
    hold = live.hold
    finish(executor, live)
    assert hold is not None
    shop.job_store.hold(hold, limit=1, now=shop.clock.now(), clock_bound_ms=0)

    second, begun = slot(shop, job, executor)

    assert [each.run.run_id for each in begun] == [second.run_id]
    assert first.run_id not in {each.run_id for each in holders(shop)}


class Throttled(MemoryJobStore):
    refuses = True

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        if self.refuses:
            raise StoreThrottled("jobs.hold", "on purpose")
        return super().hold(hold, limit=limit, now=now, clock_bound_ms=clock_bound_ms)


def test_a_place_that_cannot_be_taken_now_is_tried_again_and_nothing_starts_before(shop: Workshop) -> None:
    store = Throttled(shop.tables)
    executor = shop.executor(job_store=store)
    dispatch = shop.dispatch(shop.put_job(overlap="skip"))
    assert shop.begin_all(executor) == []

    store.refuses = False
    shop.clock.advance(SECOND)
    [live] = executor.start_due_once()
    executor.execute(live)
    executor.finish_once()

    assert status_of(shop, dispatch)[0] is RunStatus.SUCCEEDED


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "cancel_other"])
def test_a_run_that_does_not_start_after_all_leaves_its_place(shop: Workshop, overlap: str) -> None:
    ends_until = shop.clock.monotonic() + 2
    executor = shop.executor(ends_until=ends_until)
    shop.dispatch(shop.put_job(overlap=overlap))
    shop.claim(executor)
    [live] = executor.start_due_once()
    shop.clock.advance(3 * SECOND)

    assert executor.begin(live) is None
    assert holders(shop) == []
    assert shop.run_store.get(RunKey(live.run.job_key, live.run.run_id)) is not None


def test_what_was_left_out_is_told_by_its_reason(shop: Workshop) -> None:
    job = shop.put_job(overlap="skip", timeout_ms=10 * MINUTE)
    executor = shop.executor()
    slot(shop, job, executor, after_ms=0)
    slot(shop, job, executor)

    told = executor.measured()

    assert (told["started"], told["skipped_overlap"]) == (1, 1)
    assert "skipped_overlap" not in executor.measured()
