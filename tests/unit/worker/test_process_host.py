"""The worker as a process: real threads and the real clock, over queues and tables in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pytest

from functions.worker import protection
from functions.worker.process_host import HostSettings, LaneHost, ProcessHost
from functions.worker.protection import Protection
from functions.worker.targets import Call, Outcome, succeeded
from shared.adapters.ecs import NoTaskProtection
from shared.adapters.memory import MemoryDueQueue, MemoryRunStore
from shared.adapters.system import SystemClock
from shared.domain.errors import StoreError
from shared.domain.instants import HOUR, Instant
from shared.domain.message import Dispatch
from shared.domain.run import Finish, Run, RunStatus
from shared.observability.announcing import Announcements
from shared.observability.metrics import MetricLog
from shared.ports import Delivery
from shared.ports.task_protection import TaskProtection
from tests.unit.worker.workshop import Workshop

PATIENCE = 20

#: Written nowhere.
METRICS = MetricLog("Carillon/test", {"service": "worker", "host": "ecs"}, write=lambda _: None)


class PolledQueue(MemoryDueQueue):
    """Polls as long polls do: an empty answer takes its time."""

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        found = super().receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)
        if not found:
            Event().wait(timeout=0.002)
        return found


@pytest.fixture
def shop() -> Workshop:
    shop = Workshop()
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.queue = PolledQueue(shop.clock)
    shop.settings = replace(shop.settings, threads=4)
    return shop


def put_due(shop: Workshop, job_id: str = "job", **changes: Any) -> Dispatch:
    job = shop.put_job(job_id, **changes)
    return shop.dispatch(job, job.from_at)


def host_of(shop: Workshop, lane: LaneHost, host: HostSettings, task: TaskProtection | None = None) -> ProcessHost:
    task_protection = Protection(NoTaskProtection() if task is None else task, shop.clock, stop_ms=host.stop_ms)
    return ProcessHost(
        {"default": lane},
        clock=shop.clock,
        host=host,
        metrics=METRICS,
        protection=task_protection,
        announcements=Announcements(None),
    )


@contextmanager
def serving(shop: Workshop, *, task: TaskProtection | None = None, **changes: Any) -> Iterator[Callable[[], int]]:
    """A host in a thread; what is yielded stops it, waits, and answers its exit status."""
    host_settings = HostSettings(receivers=2, look_seconds=0.02)
    executor = shop.executor(**changes)
    lane = LaneHost("default", shop.queue, executor, clock=shop.clock, worker=shop.settings, host=host_settings)
    host = host_of(shop, lane, host_settings, task)
    statuses: list[int] = []
    thread = Thread(target=lambda: statuses.append(host.run()), daemon=True)
    thread.start()

    def stop() -> int:
        host.stop()
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
        return statuses[0]

    yield stop
    host.stop()
    thread.join(timeout=PATIENCE)


def test_dispatched_runs_run_and_their_messages_go(shop: Workshop) -> None:
    called = Event()

    def answer(_: Call) -> Outcome:
        if len(shop.target.calls) >= 30:
            called.set()
        return succeeded("done")

    shop.target.answer = answer
    dispatches = [put_due(shop, f"job-{number}") for number in range(30)]
    with serving(shop) as stop:
        assert called.wait(timeout=PATIENCE)
        assert stop() == 0

    runs = [shop.run_of(dispatch) for dispatch in dispatches]
    assert {(run.status, run.output, run.token) for run in runs} == {(RunStatus.SUCCEEDED, "done", 1)}
    assert len(shop.target.calls) == 30
    assert len(shop.queue) == 0


def test_a_stop_finishes_what_runs_and_hands_back_what_is_held(shop: Workshop) -> None:
    """B58."""
    claimed, started, go_on = Event(), Event(), Event()

    class Watched(MemoryRunStore):
        def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
            rows = super().insert(runs)
            if any(run.slot == held_slot for run in runs):
                claimed.set()
            return rows

    def answer(call: Call) -> Outcome:
        if call.job_id == "running":
            started.set()
            assert go_on.wait(timeout=PATIENCE)
        return succeeded()

    shop.target.answer = answer
    running = put_due(shop, "running")
    held_slot = Instant(shop.clock.now() + 1_200)
    held = shop.dispatch(shop.put_job("held"), held_slot, is_single=True)
    with serving(shop, run_store=Watched(shop.tables)) as stop:
        assert claimed.wait(timeout=PATIENCE)
        assert started.wait(timeout=PATIENCE)
        Thread(target=go_on.set, daemon=True).start()
        assert stop() == 0

    assert shop.run_of(running).status is RunStatus.SUCCEEDED
    given = shop.run_of(held)
    assert (given.status, given.reason, given.attempt) == (RunStatus.WAITING, "handed_back", 1)
    [again] = shop.receive()
    assert again.dispatch == held


def test_what_a_poll_brings_after_the_stop_is_handed_back_at_once(shop: Workshop) -> None:
    polling, stopped = Event(), Event()

    class SlowQueue(PolledQueue):
        def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
            polling.set()
            assert stopped.wait(timeout=PATIENCE)
            return super().receive(limit=limit, wait_seconds=wait_seconds, visibility_seconds=visibility_seconds)

    shop.queue = SlowQueue(shop.clock)
    dispatch = put_due(shop)
    host_settings = HostSettings(receivers=1, look_seconds=0.02)
    lane = LaneHost("default", shop.queue, shop.executor(), clock=shop.clock, worker=shop.settings, host=host_settings)
    lane.start()
    assert polling.wait(timeout=PATIENCE)
    lane.stop_receiving()
    stopped.set()
    lane.drain(until=shop.clock.monotonic() + PATIENCE)

    assert shop.run_store.get(dispatch.key) is None
    [again] = shop.receive()
    assert again.dispatch == dispatch


def test_a_handler_that_ignores_its_deadline_is_timed_out_and_others_go_on(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, threads=1)
    release, others, is_stuck = Event(), Event(), Event()

    def answer(call: Call) -> Outcome:
        if call.job_id == "stuck":
            is_stuck.set()
            assert release.wait(timeout=PATIENCE)
        else:
            others.set()
        return succeeded("too late")

    shop.target.answer = answer
    stuck = put_due(shop, "stuck", timeout_ms=50)
    with serving(shop) as stop:
        assert is_stuck.wait(timeout=PATIENCE)
        other = put_due(shop, "other")
        assert others.wait(timeout=PATIENCE)
        assert stop() == 0
        release.set()

    assert (shop.run_of(stuck).status, shop.run_of(stuck).output) == (RunStatus.TIMED_OUT, None)
    assert shop.run_of(other).status is RunStatus.SUCCEEDED


def test_a_host_whose_threads_are_all_stuck_ends_by_itself_with_status_1(shop: Workshop) -> None:
    shop.settings = replace(shop.settings, threads=1)
    release = Event()

    def answer(_: Call) -> Outcome:
        release.wait(timeout=PATIENCE)
        return succeeded()

    shop.target.answer = answer
    for number in range(2):
        put_due(shop, f"job-{number}", timeout_ms=20)
    host_settings = HostSettings(receivers=1, look_seconds=0.02)
    lane = LaneHost("default", shop.queue, shop.executor(), clock=shop.clock, worker=shop.settings, host=host_settings)

    assert host_of(shop, lane, host_settings).run() == 1
    release.set()


def test_a_step_that_fails_is_tried_again(shop: Workshop) -> None:
    failed, done = Event(), Event()

    class FailsOnce(MemoryRunStore):
        def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
            if not failed.is_set():
                failed.set()
                raise ZeroDivisionError
            answers = super().finish(finishes)
            done.set()
            return answers

    dispatch = put_due(shop)
    with serving(shop, run_store=FailsOnce(shop.tables)) as stop:
        assert done.wait(timeout=PATIENCE)
        assert stop() == 0

    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED
    assert len(shop.queue) == 0


class Protected(NoTaskProtection):
    def __init__(self) -> None:
        self.was_asked = Event()

    def protect(self, *, minutes: int) -> None:
        assert minutes > 0
        self.was_asked.set()


def test_the_task_is_protected_while_a_long_run_goes_on(shop: Workshop) -> None:
    task, may_end = Protected(), Event()

    def answer(_: Call) -> Outcome:
        may_end.wait(timeout=PATIENCE)
        return succeeded()

    shop.target.answer = answer
    put_due(shop, timeout_ms=HOUR)
    with serving(shop, task=task) as stop:
        assert task.was_asked.wait(timeout=PATIENCE)
        may_end.set()
        assert stop() == 0


def test_a_superseded_task_finishes_what_runs_hands_back_the_rest_and_ends_by_itself(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protection, "LOOK_MS", 20)
    started, may_end = Event(), Event()

    def answer(_: Call) -> Outcome:
        started.set()
        assert may_end.wait(timeout=PATIENCE)
        return succeeded()

    shop.target.answer = answer
    dispatch = put_due(shop)
    host_settings = HostSettings(receivers=2, look_seconds=0.02)
    executor = shop.executor()
    lane = LaneHost("default", shop.queue, executor, clock=shop.clock, worker=shop.settings, host=host_settings)
    host = host_of(shop, lane, host_settings, Late(started))
    thread = Thread(target=host.run, daemon=True)
    thread.start()
    assert started.wait(timeout=PATIENCE)

    may_end.set()
    thread.join(timeout=PATIENCE)

    assert not thread.is_alive()
    assert shop.run_of(dispatch).status is RunStatus.SUCCEEDED


class Late(NoTaskProtection):
    """Superseded once something runs."""

    def __init__(self, since: Event) -> None:
        self._since = since

    def is_superseded(self) -> bool:
        return self._since.is_set()
