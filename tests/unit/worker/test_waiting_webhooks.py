"""Webhooks whose receivers take their time: no thread waits for them, and they hold up nobody."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from functions.worker.crews import Crews
from functions.worker.live_run import LiveRun
from functions.worker.process_host import HostSettings, LaneHost
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Later, Outcome, Targets, failed, succeeded
from shared.domain.instants import SECOND
from shared.domain.message import Dispatch
from shared.domain.run import RunStatus
from tests.unit.worker.workshop import OWNER, Workshop

PATIENCE = 20


class Receivers:
    """Answer when a test says so."""

    def __init__(self) -> None:
        self.called: SimpleQueue[str] = SimpleQueue()
        self.answers: dict[str, Future[Outcome]] = {}
        #: Of jobs whose answer leads to another.
        self.following: dict[str, Future[Outcome]] = {}

    def call(self, call: Call) -> Later:
        answer: Future[Outcome] = Future()
        self.answers[call.job_id] = answer
        self.called.put(call.job_id)
        following = self.following.get(call.job_id)
        return Later(answer, answer.result if following is None else lambda: Later(following, following.result))

    def wait_for(self, count: int) -> set[str]:
        return {self.called.get(timeout=PATIENCE) for _ in range(count)}

    def answer_all(self, outcome: Outcome | None = None) -> None:
        for answer in self.answers.values():
            if not answer.done():
                answer.set_result(outcome or succeeded("done"))


class Lane:
    """A lane of webhooks and recorded targets, stepped by hand or served by its host."""

    def __init__(self, shop: Workshop, *, webhooks: int = 500, patience_ms: int = 5 * SECOND) -> None:
        shop.settings = WorkerSettings(threads=2, webhooks=webhooks, patience_ms=patience_ms)
        self.shop = shop
        self.receivers = Receivers()
        self.executor = shop.executor(targets=Targets({"recorded": shop.target, "http": self.receivers}))
        self.crews = Crews(self.executor, count=2, spare=2)
        self.host = LaneHost(
            "default", shop.queue, self.executor, clock=shop.clock, worker=shop.settings, host=HostSettings()
        )

    def webhook(self, job_id: str, host: str, **changes: int) -> Dispatch:
        target = {"type": "http", "url": f"https://{host}/hook"}
        return self.shop.dispatch(self.shop.put_job(job_id, target=target, **changes))

    def claim(self) -> None:
        while self.shop.claim(self.executor):
            pass

    def begin(self) -> list[LiveRun]:
        """Claim, and call what may be called."""
        self.claim()
        due = self.executor.start_due_once()
        for live in due:
            self.crews.launch(live)
        return due

    def store(self) -> None:
        while self.executor.finish_once():
            pass

    def wait_for_end(self, count: int) -> None:
        runs = self.executor.runs
        with runs.ended:
            # Told of the first end, and of a batch.
            waits = (runs.ended.wait_for(lambda: runs.ending >= count, timeout=0.01) for _ in range(100 * PATIENCE))
            assert any(waits)


def statuses(shop: Workshop, dispatches: list[Dispatch]) -> set[tuple[RunStatus, int, str | None]]:
    runs = [shop.run_of(dispatch) for dispatch in dispatches]
    return {(run.status, len(run.attempts), run.reason) for run in runs}


def test_hundreds_wait_for_their_receivers_with_the_threads_that_send_them(shop: Workshop) -> None:
    lane = Lane(shop)
    before = threading.active_count()
    dispatches = [lane.webhook(f"job-{number}", f"host-{number}.example") for number in range(500)]

    assert len(lane.begin()) == 500
    assert len(lane.receivers.wait_for(500)) == 500
    assert threading.active_count() <= before + 2

    lane.receivers.answer_all()
    lane.wait_for_end(500)
    lane.store()
    assert statuses(shop, dispatches) == {(RunStatus.SUCCEEDED, 1, None)}
    assert (len(shop.queue), len(lane.executor.runs)) == (0, 0)
    lane.crews.close()


def test_a_handler_has_its_thread_while_webhooks_wait_and_the_lane_takes_more(shop: Workshop) -> None:
    lane, called = Lane(shop), Event()

    def answer(_: Call) -> Outcome:
        called.set()
        return succeeded()

    shop.target.answer = answer
    for number in range(40):
        lane.webhook(f"job-{number}", "slow.example")
    lane.begin()
    lane.receivers.wait_for(40)

    assert lane.host.room() > 0
    shop.dispatch(shop.put_job("handler"))
    lane.begin()
    assert called.wait(timeout=PATIENCE)
    lane.receivers.answer_all()
    lane.crews.close()


def test_an_answer_is_taken_while_every_handler_is_busy(shop: Workshop) -> None:
    lane, goes_on, busy = Lane(shop), Event(), SimpleQueue[None]()

    def answer(_: Call) -> Outcome:
        busy.put(None)
        assert goes_on.wait(timeout=PATIENCE)
        return succeeded()

    shop.target.answer = answer
    for number in range(2):
        shop.dispatch(shop.put_job(f"handler-{number}"))
    dispatch = lane.webhook("job", "quick.example")
    lane.begin()
    for _ in range(2):
        busy.get(timeout=PATIENCE)
    lane.receivers.wait_for(1)
    lane.receivers.answer_all()
    lane.wait_for_end(1)
    lane.store()

    assert statuses(shop, [dispatch]) == {(RunStatus.SUCCEEDED, 1, None)}
    goes_on.set()
    lane.crews.close()


def test_a_receiver_has_a_quarter_and_its_other_runs_wait_in_hand_with_their_lease(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=16, patience_ms=90 * SECOND)
    for number in range(10):
        lane.webhook(f"slow-{number}", "slow.example", timeout_ms=600 * SECOND)
    assert len(lane.begin()) == 4
    lane.receivers.wait_for(4)

    # Three leases long.
    for _ in range(60):
        shop.clock.advance(SECOND)
        lane.executor.heartbeat_once()
        assert shop.receive() == []
    assert lane.executor.start_due_once() == []
    lane.webhook("quick", "quick.example")
    assert [live.run.job_key for live in lane.begin()] == [f"{OWNER}/quick"]
    lane.receivers.wait_for(1)

    lane.receivers.answers["slow-0"].set_result(succeeded())
    lane.wait_for_end(1)
    assert [live.run.job_key for live in lane.begin()] == [f"{OWNER}/slow-4"]
    lane.receivers.wait_for(1)
    lane.receivers.answer_all()
    lane.crews.close()


def test_those_in_line_keep_nobody_from_being_received(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=16)
    for number in range(40):
        lane.webhook(f"slow-{number}", "slow.example")
    lane.begin()
    lane.receivers.wait_for(4)

    assert lane.host.room() == 16
    lane.receivers.answer_all()
    lane.crews.close()


def test_who_waited_long_for_its_receiver_waits_as_one_without_a_place(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=4, patience_ms=5 * SECOND)
    first, second = (lane.webhook(f"slow-{number}", "slow.example") for number in range(2))
    assert len(lane.begin()) == 1
    lane.receivers.wait_for(1)
    shop.clock.advance(5 * SECOND - 1)
    lane.begin()
    lane.store()
    assert shop.run_of(second).status is RunStatus.RUNNING

    shop.clock.advance(1)
    lane.begin()
    lane.store()
    run = shop.run_of(second)
    assert (run.status, run.reason, run.attempt, len(run.attempts)) == (RunStatus.WAITING, "receiver_busy", 1, 0)
    assert lane.executor.measured()["delayed"] == 1

    lane.receivers.answer_all()
    lane.wait_for_end(1)
    lane.store()
    shop.clock.advance(10 * SECOND)
    lane.begin()
    assert lane.receivers.wait_for(1) == {"slow-1"}
    lane.receivers.answer_all()
    lane.wait_for_end(1)
    lane.store()
    assert statuses(shop, [first, second]) == {(RunStatus.SUCCEEDED, 1, None)}
    lane.crews.close()


def test_those_in_line_go_at_once_while_jobs_take_half_of_the_memory(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=4)
    dispatches = [lane.webhook(f"slow-{number}", "slow.example") for number in range(2)]
    lane.claim()
    lane.executor._settings = replace(shop.settings, most_weight=2 * lane.executor.runs.weight)
    lane.begin()
    lane.store()

    assert {shop.run_of(dispatch).reason for dispatch in dispatches} == {None, "receiver_busy"}
    lane.receivers.wait_for(1)
    lane.receivers.answer_all()
    lane.crews.close()


def test_a_stop_hands_back_those_in_line(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=4)
    dispatches = [lane.webhook(f"slow-{number}", "slow.example") for number in range(3)]
    lane.begin()
    lane.receivers.wait_for(1)

    assert lane.executor.hand_back_once() == 2
    lane.receivers.answer_all()
    lane.wait_for_end(3)
    lane.store()

    assert lane.executor.start_due_once() == []
    assert statuses(shop, dispatches) == {(RunStatus.SUCCEEDED, 1, None), (RunStatus.WAITING, 0, "handed_back")}
    lane.crews.close()


def test_a_run_that_is_cancelled_in_line_never_starts_and_the_next_does(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=4, patience_ms=60 * SECOND)
    dispatches = [lane.webhook(f"slow-{number}", "slow.example") for number in range(3)]
    lane.begin()
    lane.receivers.wait_for(1)
    now = shop.clock.now()
    shop.run_store.request_cancel(dispatches[1].key, at=now, expires_at=now)
    shop.clock.advance(7 * SECOND)
    lane.executor.heartbeat_once()
    lane.receivers.answer_all()
    lane.wait_for_end(2)

    lane.begin()
    assert lane.receivers.wait_for(1) == {"slow-2"}
    lane.receivers.answer_all()
    lane.wait_for_end(3)
    lane.store()
    assert [shop.run_of(each).status for each in dispatches] == [
        RunStatus.SUCCEEDED,
        RunStatus.CANCELLED,
        RunStatus.SUCCEEDED,
    ]
    lane.crews.close()


def test_a_receiver_that_does_not_answer_gives_up_its_place_at_the_deadline(shop: Workshop) -> None:
    lane = Lane(shop, webhooks=4, patience_ms=60 * SECOND)
    silent = lane.webhook("silent", "slow.example", timeout_ms=2 * SECOND)
    lane.begin()
    lane.receivers.wait_for(1)
    lane.webhook("next", "slow.example")
    assert lane.begin() == []

    shop.clock.advance(2 * SECOND)
    [expired] = lane.executor.expire_once()
    lane.crews.abandon(expired)
    lane.begin()
    assert lane.receivers.wait_for(1) == {"next"}

    # What comes after all is discarded.
    lane.receivers.answer_all()
    lane.wait_for_end(2)
    lane.store()
    assert shop.run_of(silent).status is RunStatus.TIMED_OUT
    lane.crews.close()


def test_what_goes_wrong_with_an_answer_fails_its_run(shop: Workshop) -> None:
    lane = Lane(shop)
    dispatch = lane.webhook("job", "odd.example")
    lane.begin()
    lane.receivers.wait_for(1)
    lane.receivers.answers["job"].set_exception(ZeroDivisionError())
    lane.wait_for_end(1)
    lane.store()

    run = shop.run_of(dispatch)
    assert run.error is not None
    assert (run.status, run.error.type) == (RunStatus.FAILED, "ZeroDivisionError")
    lane.crews.close()


def test_an_answer_may_lead_to_another(shop: Workshop) -> None:
    lane, following = Lane(shop), Future[Outcome]()
    dispatch = lane.webhook("job", "redirecting.example")
    lane.receivers.following["job"] = following
    lane.begin()
    lane.receivers.wait_for(1)
    lane.receivers.answer_all()
    following.set_result(failed("http_5xx", "no", is_permanent=True))
    lane.wait_for_end(1)
    lane.store()

    assert statuses(shop, [dispatch]) == {(RunStatus.FAILED, 1, None)}
    lane.crews.close()


def test_without_a_thread_for_it_an_answer_is_taken_by_the_one_that_brought_it(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane, is_busy, goes_on = Lane(shop), Event(), Event()
    dispatch = lane.webhook("job", "quick.example")
    lane.begin()
    lane.receivers.wait_for(1)
    occupied: list[Event] = []

    def occupy() -> None:
        is_busy.set()
        assert goes_on.wait(timeout=PATIENCE)

    other = shop.dispatch(shop.put_job("other"))
    [live] = shop.claim(lane.executor)
    assert lane.crews._webhooks.submit(live, occupy)
    assert is_busy.wait(timeout=PATIENCE)

    def fail(_: Thread) -> None:
        occupied.append(Event())
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", fail)
    lane.receivers.answer_all()
    assert occupied
    assert lane.executor.runs.ending == 1
    lane.store()
    goes_on.set()

    assert statuses(shop, [dispatch]) == {(RunStatus.SUCCEEDED, 1, None)}
    assert shop.run_of(other).status is RunStatus.RUNNING
    lane.crews.close()


def test_an_answer_after_the_end_of_its_host_starts_nothing(shop: Workshop) -> None:
    lane = Lane(shop)
    lane.webhook("job", "late.example")
    lane.begin()
    lane.receivers.wait_for(1)
    lane.crews.close()

    lane.receivers.answer_all()
    assert lane.executor.runs.ending == 0
