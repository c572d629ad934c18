"""The worker as a process whose host or queue fails: it goes on, and says so once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Semaphore, Thread

import pytest

from functions.worker.process_host import HostSettings, LaneHost
from shared.adapters.memory import MemoryRunStore
from shared.adapters.system import SystemClock
from shared.domain.errors import OutcomeUnknown, StoreError
from shared.domain.run import Finish, RunStatus
from shared.ports import Delivery
from tests.unit.worker.test_process_host import PATIENCE, PolledQueue, put_due, serving
from tests.unit.worker.workshop import Workshop


@pytest.fixture
def shop() -> Workshop:
    shop = Workshop()
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.queue = PolledQueue(shop.clock)
    shop.settings = replace(shop.settings, threads=4)
    return shop


def test_what_no_thread_can_be_started_for_is_handed_back_and_the_lane_goes_on(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, failures = Event(), iter(range(3))
    start = Thread.start

    def start_in_the_end(thread: Thread) -> None:
        if thread.name == "handler" and next(failures, None) is not None:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(Thread, "start", start_in_the_end)
    dispatches = [put_due(shop, f"job-{number}") for number in range(8)]

    class Watched(MemoryRunStore):
        def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
            statuses = super().finish(finishes)
            if all(run.status is RunStatus.SUCCEEDED for run in self._tables.runs.values()):
                done.set()
            return statuses

    with serving(shop, run_store=Watched(shop.tables)) as stop:
        assert done.wait(timeout=PATIENCE)
        assert stop() == 0
    assert next(failures, None) is None
    assert {(run.status, run.attempt) for run in map(shop.run_of, dispatches)} == {(RunStatus.SUCCEEDED, 1)}


def test_a_step_that_fails_again_and_again_says_so_once_and_is_counted(
    shop: Workshop, caplog: pytest.LogCaptureFixture
) -> None:
    failed = Semaphore(0)

    class Out(PolledQueue):
        def receive(self, **_: int) -> list[Delivery]:
            failed.release()
            raise OutcomeUnknown("receive", "SQS is out")

    shop.queue = Out(shop.clock)
    host_settings = HostSettings(receivers=4, look_seconds=0.02)
    lane = LaneHost("default", shop.queue, shop.executor(), clock=shop.clock, worker=shop.settings, host=host_settings)
    lane.start()
    for _ in range(5):
        assert failed.acquire(timeout=PATIENCE)
    lane.stop_receiving()
    lane.drain(until=shop.clock.monotonic() + PATIENCE)

    said = [record for record in caplog.records if getattr(record, "action", "") == "worker_receive"]
    assert len(said) == 1
    assert lane.measured()["step_failures"] == 5 + failed._value
