"""The threads that call targets, and what becomes of one whose handler does not return."""

from __future__ import annotations

from asyncio import CancelledError
from functools import partial
from threading import Event, Semaphore, Thread

import pytest

from functions.worker.crew import Crew
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

    def submit(self, crew: Crew, live: LiveRun) -> bool:
        return crew.submit(live, partial(self.execute, live))

    def execute(self, live: LiveRun) -> None:
        self.started.release()
        if live in self.cues:
            assert self.cues[live].wait(timeout=PATIENCE)
        self.ended.release()


def test_no_more_executions_run_at_once_than_there_are_threads(shop: Workshop) -> None:
    runs = some_runs(shop, 3)
    stage = Stage()
    stage.cues = {live: Event() for live in runs}
    crew = Crew("handler", count=2, spare=2)

    for live in runs:
        stage.submit(crew, live)
    assert stage.started.acquire(timeout=PATIENCE)
    assert stage.started.acquire(timeout=PATIENCE)
    assert not stage.started.acquire(blocking=False)

    stage.cues[runs[0]].set()
    assert stage.started.acquire(timeout=PATIENCE)
    for cue in stage.cues.values():
        cue.set()
    crew.close()


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
    crew = Crew("handler", count=4, spare=4)
    assert stage.submit(crew, first)
    assert stage.started.acquire(timeout=PATIENCE)

    host.gives = False
    assert not stage.submit(crew, second)
    # What there is may be used, and no more is promised.
    assert crew.usable == 1
    assert not crew.is_stuck

    host.gives = True
    crew.revive()
    assert crew.usable == 4
    assert stage.submit(crew, third)
    assert stage.started.acquire(timeout=PATIENCE)
    stage.cues[first].set()
    crew.close()


def test_threads_are_stuck_when_the_host_gives_none_for_long(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    [live] = some_runs(shop, 1)
    host, stage = Host(monkeypatch), Stage()
    crew = Crew("handler", count=4, spare=4)
    host.gives = False
    assert not stage.submit(crew, live)
    assert (crew.usable, crew.is_stuck) == (0, False)

    for _ in range(60):
        crew.revive()
    assert crew.is_stuck

    host.gives = True
    crew.revive()
    assert (crew.usable, crew.is_stuck) == (4, False)
    crew.close()


def test_an_abandoned_execution_is_replaced_by_a_spare_thread(shop: Workshop) -> None:
    stuck, waiting = some_runs(shop, 2)
    stage = Stage()
    stage.cues = {stuck: Event()}
    crew = Crew("handler", count=1, spare=1)
    stage.submit(crew, stuck)
    assert stage.started.acquire(timeout=PATIENCE)
    stage.submit(crew, waiting)

    crew.abandon(stuck)

    assert stage.ended.acquire(timeout=PATIENCE), "the waiting one ran beside the stuck one"
    assert crew.usable == 1
    stage.cues[stuck].set()
    crew.close()


def test_with_every_spare_stuck_no_thread_is_usable(shop: Workshop) -> None:
    runs = some_runs(shop, 2)
    stage = Stage()
    stage.cues = {live: Event() for live in runs}
    crew = Crew("handler", count=1, spare=1)
    for live in runs:
        stage.submit(crew, live)
        assert stage.started.acquire(timeout=PATIENCE)
        crew.abandon(live)

    assert crew.usable == 0
    for cue in stage.cues.values():
        cue.set()
        assert stage.ended.acquire(timeout=PATIENCE)
    crew.close()


def test_an_execution_that_has_returned_cannot_be_abandoned(shop: Workshop) -> None:
    [live] = some_runs(shop, 1)
    crew = Crew("handler", count=1, spare=0)

    crew.abandon(live)

    assert crew.usable == 1


def test_an_execution_that_raises_costs_no_thread(shop: Workshop) -> None:
    broken, sound = some_runs(shop, 2)
    done = Event()

    def execute(live: LiveRun) -> None:
        if live is broken:
            raise ZeroDivisionError
        done.set()

    crew = Crew("handler", count=1, spare=0)
    crew.submit(broken, partial(execute, broken))
    crew.submit(sound, partial(execute, sound))

    assert done.wait(timeout=PATIENCE)
    crew.close()


def test_a_thread_that_has_just_taken_a_run_counts_for_no_other(shop: Workshop) -> None:
    """It still counts as idle then; the next run must not wait behind the one that it took."""
    [live] = some_runs(shop, 1)
    stage = Stage()
    crew = Crew("handler", count=2, spare=0)
    crew._idle, crew._waiting = 1, 1

    stage.submit(crew, live)

    assert stage.started.acquire(timeout=PATIENCE)
    crew.close()


def test_a_thread_survives_whatever_an_execution_raises(shop: Workshop) -> None:
    done = Semaphore(0)

    def execute(live: LiveRun) -> None:
        done.release()
        raise CancelledError(str(live.run.key))

    crew = Crew("handler", count=1, spare=0)
    for live in some_runs(shop, 3):
        crew.submit(live, partial(execute, live))
        assert done.acquire(timeout=PATIENCE)
    crew.close()
