"""What a worker holds before a herd, and how its threads hear of room."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from threading import Thread

import pytest

from functions.worker.live_run import LiveRun
from functions.worker.live_runs import LiveRuns
from functions.worker.process_host import HostSettings, LaneHost
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, succeeded
from functions.worker.weighing import BYTES_OF_JOB, bytes_of
from shared.domain.instants import SECOND, Instant
from shared.domain.limits import MAX_PAYLOAD_BYTES
from tests.contract.values import make_job
from tests.unit.worker.workshop import Workshop

PATIENCE_SECONDS = 20.0


def held(shop: Workshop, count: int) -> tuple[LiveRuns, list[LiveRun]]:
    """Claimed, and due now."""
    for number in range(count):
        shop.dispatch(shop.put_job(f"job-{number}"))
    executor = shop.executor()
    while shop.claim(executor):
        pass
    return executor.runs, executor.start_due_once()


def test_a_message_of_a_herd_is_claimed_when_it_comes_and_held_until_its_time(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, longest_lead_ms=5 * SECOND)
    slot = Instant(shop.clock.now() + 6 * SECOND)
    shop.dispatch(shop.put_job(early_ms=6 * SECOND), slot)
    executor = shop.executor()
    assert len(shop.claim(executor)) == 1
    shop.clock.advance(6 * SECOND - 1)
    assert executor.start_due_once() == []
    shop.clock.advance(1)
    assert len(executor.start_due_once()) == 1


def test_a_message_that_is_earlier_than_any_herd_is_hidden(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, longest_lead_ms=5 * SECOND)
    slot = Instant(shop.clock.now() + 6 * SECOND + 1)
    shop.dispatch(shop.put_job(early_ms=6 * SECOND + 1), slot)
    executor = shop.executor()
    assert shop.claim(executor) == []
    assert executor.counts["early"] == 1


@pytest.mark.parametrize(("usual_ms", "most"), [(1.0, 5_000), (10.0, 1_600), (125.0, 128), (10_000.0, 128)])
def test_a_worker_holds_as_many_as_it_could_start_within_a_second_and_some_in_any_case(
    usual_ms: float, most: int
) -> None:
    assert WorkerSettings(threads=16).may_hold(usual_ms) == most


def test_a_longest_lead_that_outlives_a_third_of_the_lease_is_refused() -> None:
    WorkerSettings(lease_ms=18_000, longest_lead_ms=5_000).check()
    with pytest.raises(ValueError, match="three holds of 6000 ms"):
        WorkerSettings(lease_ms=17_999, longest_lead_ms=5_000).check()
    with pytest.raises(ValueError, match="longest lead"):
        WorkerSettings(longest_lead_ms=299).check()


def test_how_long_targets_take_is_learnt_from_those_that_ended(shop: Workshop) -> None:
    def slow(_call: Call) -> Outcome:
        shop.clock.advance(40)
        return succeeded()

    shop.target.answer = slow
    executor = shop.executor()
    assert executor.runs.usual_ms == SECOND
    for number in range(100):
        shop.dispatch(shop.put_job(f"job-{number}"))
    while shop.claim(executor):
        shop.start_all(executor)
        executor.finish_once()
    assert 40 <= executor.runs.usual_ms < 45


def test_unstarted_are_those_that_were_neither_handed_out_nor_ended(shop: Workshop) -> None:
    runs, launched = held(shop, 3)
    shop.dispatch(shop.put_job("later", early_ms=200), Instant(shop.clock.now() + 200))
    assert (len(runs), runs.launched, runs.unstarted) == (3, 3, 0)
    runs.hold(launched[0], until=Instant(shop.clock.now() + 1))
    assert (runs.launched, runs.unstarted) == (2, 1)
    runs.remove(launched[1:])
    assert (len(runs), runs.launched, runs.unstarted) == (1, 0, 1)


def test_who_waits_for_room_is_told_once_enough_have_ended(shop: Workshop) -> None:
    runs, launched = held(shop, 3)
    waiting = Thread(target=runs.wait_until_launched_below, args=(2,), kwargs={"at_most_seconds": PATIENCE_SECONDS})
    waiting.start()
    while not runs._room_below:
        waiting.join(0.001)
    runs.remove(launched[:1])
    waiting.join(0.01)
    assert waiting.is_alive()
    runs.remove(launched[1:2])
    waiting.join(PATIENCE_SECONDS)
    assert not waiting.is_alive()


def test_the_deadline_of_a_run_that_ended_is_not_kept_until_it_comes(shop: Workshop) -> None:
    executor = shop.executor()
    for number in range(300):
        shop.dispatch(shop.put_job(f"job-{number}"))
        shop.claim(executor)
        shop.start_all(executor)
        executor.finish_once()
    assert len(executor.runs._deadlines) <= 70


#: As much memory as 128 KB of JSON can take.
WORST_PAYLOAD: list[list[int]] = [[] for _ in range(MAX_PAYLOAD_BYTES // len("[],"))]


def test_a_worker_whose_held_jobs_are_large_takes_no_more_until_they_are_gone(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, most_weight=20_000_000, threads=16)
    executor = shop.executor()
    lane = LaneHost("default", shop.queue, executor, clock=shop.clock, worker=shop.settings, host=HostSettings())
    for number in range(100):
        shop.dispatch(
            shop.put_job(f"job-{number}", early_ms=SECOND, payload=WORST_PAYLOAD), Instant(shop.clock.now() + SECOND)
        )

    while lane.room() > 0:
        assert shop.claim(executor)
        executor.read_once()

    assert len(executor.runs) < 20
    executor.runs.remove(executor.runs.not_begun())
    assert (executor.runs.weight, lane.room()) == (0, shop.settings.max_held)


def test_what_a_job_weighs_is_what_it_takes() -> None:
    text = json.dumps({"list": WORST_PAYLOAD, "text": "\N{PARTY POPPER}" * 1_000, "deep": {"a": {"b": [1.5, None]}}})
    job = make_job(payload=json.loads(text), target={"type": "handler", "name": "x"})

    tracemalloc.start()
    try:
        payload = json.loads(text)
        took = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert payload == job.payload
    assert took <= bytes_of(job) <= 1.2 * took + BYTES_OF_JOB
