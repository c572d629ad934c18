"""The threads that call targets, and what becomes of one whose handler does not return."""

from __future__ import annotations

from asyncio import CancelledError
from threading import Event, Semaphore, Thread

import pytest

from functions.worker.handler_threads import HandlerThreads
from functions.worker.live_run import LiveRun
from tests.unit.worker.workshop import Workshop

PATIENCE = 10


def some_runs(shop: Workshop, count: int) -> list[LiveRun]:
    for number in range(count):
        shop.dispatch(shop.put_job(f"job-{number}"))
    return shop.claim(shop.executor())


class Stage:
    """Executions that wait for their cue."""

    def __init__(self) -> None:
        self.started = Semaphore(0)
        self.ended = Semaphore(0)
        self.cues: dict[LiveRun, Event] = {}

    def execute(self, live: LiveRun) -> None:
        self.started.release()
        if live in self.cues:
            assert self.cues[live].wait(timeout=PATIENCE)
        self.ended.release()


def test_no_more_executions_run_at_once_than_there_are_threads(shop: Workshop) -> None:
    runs = some_runs(shop, 3)
    stage = Stage()
    stage.cues = {live: Event() for live in runs}
    threads = HandlerThreads(stage.execute, count=2, spare=2)

    for live in runs:
        threads.submit(live)
    assert stage.started.acquire(timeout=PATIENCE)
    assert stage.started.acquire(timeout=PATIENCE)
    assert not stage.started.acquire(blocking=False)

    stage.cues[runs[0]].set()
    assert stage.started.acquire(timeout=PATIENCE)
    for cue in stage.cues.values():
        cue.set()
    threads.close()


class Host:
    """Gives a thread, or none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gives = True
        start = Thread.start

        def start_if_given(thread: Thread) -> None:
            if not self.gives:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(Thread, "start", start_if_given)


def test_a_run_for_which_no_thread_can_be_started_is_not_taken(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = some_runs(shop, 3)
    host, stage = Host(monkeypatch), Stage()
    stage.cues = {first: Event()}
    threads = HandlerThreads(stage.execute, count=4, spare=4)
    assert threads.submit(first)
    assert stage.started.acquire(timeout=PATIENCE)

    host.gives = False
    assert not threads.submit(second)
    # What there is may be used, and no more is promised.
    assert threads.usable == 1
    assert not threads.is_stuck

    host.gives = True
    threads.revive()
    assert threads.usable == 4
    assert threads.submit(third)
    assert stage.started.acquire(timeout=PATIENCE)
    stage.cues[first].set()
    threads.close()


def test_threads_are_stuck_when_the_host_gives_none_for_long(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    [live] = some_runs(shop, 1)
    host, stage = Host(monkeypatch), Stage()
    threads = HandlerThreads(stage.execute, count=4, spare=4)
    host.gives = False
    assert not threads.submit(live)
    assert (threads.usable, threads.is_stuck) == (0, False)

    for _ in range(60):
        threads.revive()
    assert threads.is_stuck

    host.gives = True
    threads.revive()
    assert (threads.usable, threads.is_stuck) == (4, False)
    threads.close()


def test_an_abandoned_execution_is_replaced_by_a_spare_thread(shop: Workshop) -> None:
    stuck, waiting = some_runs(shop, 2)
    stage = Stage()
    stage.cues = {stuck: Event()}
    threads = HandlerThreads(stage.execute, count=1, spare=1)
    threads.submit(stuck)
    assert stage.started.acquire(timeout=PATIENCE)
    threads.submit(waiting)

    threads.abandon(stuck)

    assert stage.ended.acquire(timeout=PATIENCE), "the waiting one ran beside the stuck one"
    assert threads.usable == 1
    stage.cues[stuck].set()
    threads.close()


def test_with_every_spare_stuck_no_thread_is_usable(shop: Workshop) -> None:
    runs = some_runs(shop, 2)
    stage = Stage()
    stage.cues = {live: Event() for live in runs}
    threads = HandlerThreads(stage.execute, count=1, spare=1)
    for live in runs:
        threads.submit(live)
        assert stage.started.acquire(timeout=PATIENCE)
        threads.abandon(live)

    assert threads.usable == 0
    for cue in stage.cues.values():
        cue.set()
        assert stage.ended.acquire(timeout=PATIENCE)
    threads.close()


def test_an_execution_that_has_returned_cannot_be_abandoned(shop: Workshop) -> None:
    [live] = some_runs(shop, 1)
    stage = Stage()
    threads = HandlerThreads(stage.execute, count=1, spare=0)

    threads.abandon(live)

    assert threads.usable == 1


def test_an_execution_that_raises_costs_no_thread(shop: Workshop) -> None:
    broken, sound = some_runs(shop, 2)
    done = Event()

    def execute(live: LiveRun) -> None:
        if live is broken:
            raise ZeroDivisionError
        done.set()

    threads = HandlerThreads(execute, count=1, spare=0)
    threads.submit(broken)
    threads.submit(sound)

    assert done.wait(timeout=PATIENCE)
    threads.close()


def test_a_thread_that_has_just_taken_a_run_counts_for_no_other(shop: Workshop) -> None:
    """It still counts as idle then; the next run must not wait behind the one that it took."""
    [live] = some_runs(shop, 1)
    stage = Stage()
    threads = HandlerThreads(stage.execute, count=2, spare=0)
    threads._idle, threads._waiting = 1, 1

    threads.submit(live)

    assert stage.started.acquire(timeout=PATIENCE)
    threads.close()


def test_a_thread_survives_whatever_an_execution_raises(shop: Workshop) -> None:
    done = Semaphore(0)

    def execute(live: LiveRun) -> None:
        done.release()
        raise CancelledError(str(live.run.key))

    threads = HandlerThreads(execute, count=1, spare=0)
    for live in some_runs(shop, 3):
        threads.submit(live)
        assert done.acquire(timeout=PATIENCE)
    threads.close()
