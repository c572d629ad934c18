"""The loops: what fails waits by chance, and a signal ends them in time."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import pytest

from functions.scheduler import health, runner, wiring
from functions.scheduler.runner import Runner, Step
from shared.adapters.memory.clock import ManualClock
from shared.adapters.memory.fleet_store import MemoryFleetStore
from shared.adapters.system import SystemClock
from shared.domain.errors import StoreThrottled
from shared.domain.instants import SECOND, to_rfc3339
from shared.observability.pulse import Pulse, ask
from tests.unit.scheduler.world import World


class Dice:
    def __init__(self, fraction: float = 1.0) -> None:
        self._fraction = fraction

    def fraction(self) -> float:
        return self._fraction

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)


def failing() -> None:
    raise StoreThrottled("op", "too much")


def pauses(step: Step, dice: Dice, turns: int) -> list[float]:
    """How long after each turn the next one is due."""
    clock = ManualClock()
    found = []
    for _ in range(turns):
        started_at = clock.monotonic()
        step.run_if_due(clock, dice)
        found.append(round(step.due_at - started_at, 3))
        clock.advance(int(found[-1] * SECOND))
    return found


def test_a_step_that_fails_waits_longer_each_time_up_to_a_bound() -> None:
    assert pauses(Step("plan", failing, 1.0), Dice(), 7) == [1.25, 1.5, 2.0, 3.0, 5.0, 6.0, 6.0]


def test_it_waits_by_chance() -> None:
    assert pauses(Step("plan", failing, 1.0), Dice(0.0), 3) == [1.0] * 3
    assert pauses(Step("plan", failing, 1.0), Dice(0.5), 3) == [1.125, 1.25, 1.5]


def test_a_beat_waits_no_longer_than_a_second_more() -> None:
    step = Step("beat", failing, 1.0, runner.LONGEST_PAUSE_OF_BEAT_SECONDS)
    assert pauses(step, Dice(), 5) == [1.25, 1.5, 2.0, 2.0, 2.0]


def test_success_ends_the_waiting() -> None:
    answers: list[Callable[[], None]] = [failing, failing, lambda: None, failing]

    def sometimes() -> None:
        answers.pop(0)()

    assert pauses(Step("plan", sometimes, 1.0), Dice(), 4) == [1.25, 1.5, 1.0, 1.25]


def test_a_bug_in_a_step_is_logged_and_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    def buggy() -> None:
        raise KeyError("bug")

    with caplog.at_level(logging.ERROR):
        assert pauses(Step("plan", buggy, 1.0), Dice(), 2) == [1.25, 1.5]
    assert "failed" in caplog.text


# Leaving --------------------------------------------------------------------------------------------------------------


def owners(world: World) -> set[str | None]:
    return {lease.owner for lease in world.fleet.snapshot().leases.values()}


def test_a_queue_that_takes_nothing_does_not_keep_the_shards() -> None:
    world = World()

    class Refusing:
        def send(self, _dispatches: object) -> None:
            failing()

    node = world.start_node("a")
    world.create("once", at=to_rfc3339(world.now))
    world.run(2 * SECOND)
    before = len(world.sent)
    world.queues["default"] = Refusing()  # type: ignore[assignment]
    world.create("lost?", at=to_rfc3339(world.now))
    node.sweep_once()
    node.tick_once()
    node.drain(until=world.clock.monotonic() + 2)
    assert owners(world) == {None}
    assert "a" not in world.fleet.snapshot().nodes
    world.nodes.clear()

    del world.queues["default"]
    world.__post_init__()
    world.start_node("b")
    world.run(3 * SECOND)
    assert [each.job_key for each in world.sent[before:]] == ["acme/lost?"]


def test_nothing_is_begun_after_the_deadline() -> None:
    world = World()
    node = world.start_node("a")
    world.run(2 * SECOND)
    node.drain(until=world.clock.monotonic())
    assert owners(world) == {"a"}
    assert "a" in world.fleet.snapshot().nodes


def test_what_is_not_sent_by_the_deadline_is_sent_by_the_next_owner() -> None:
    world = World()

    class Slow:
        def __init__(self, inner: object) -> None:
            self.inner = inner

        def send(self, dispatches: list[object]) -> object:
            world.clock.advance(SECOND)
            return self.inner.send(dispatches)  # type: ignore[attr-defined]

    due = to_rfc3339(world.now)
    for number in range(2_000):
        world.create(f"once-{number}", at=due)
    node = world.start_node("a", queues={lane: Slow(queue) for lane, queue in world.queues.items()})
    node.plan_once()
    node.load_once()
    for _ in range(10):
        node.tick_once()
    until = world.clock.monotonic() + 2
    node.drain(until=until)
    world.nodes.clear()
    world.collect()
    assert 0 < len(world.sent) < 2_000

    world.start_node("b")
    world.run(10 * SECOND)
    assert len({each.job_key for each in world.sent}) == 2_000


def test_the_signal_ends_the_process_though_a_step_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "DRAIN_SECONDS", 0.2)
    world = World()
    node = world.start_node("a")
    hangs, goes_on = Event(), Event()

    def hang(_node: object) -> None:
        hangs.set()
        goes_on.wait(30)

    monkeypatch.setattr(type(node), "sweep_once", hang)
    running = Runner(node, SystemClock())
    thread = Thread(target=running.run)
    thread.start()
    assert hangs.wait(10)
    running.stop()
    thread.join(10)
    goes_on.set()
    assert not thread.is_alive()


class Unanswered(MemoryFleetStore):
    """The first calls fail, and every one with `refusals` below zero."""

    refusals = 3

    def pin_shard_count(self, shard_count: int) -> int:
        self.refusals -= 1
        if self.refusals >= 0 or self.refusals < -1:
            failing()
        return super().pin_shard_count(shard_count)


def test_a_node_that_starts_in_an_outage_waits_for_its_end() -> None:
    world = World()
    node = world.start_node("a")
    fleet = Unanswered(world.tables)
    node.owned.ports = replace(node.owned.ports, fleet=fleet)
    running = Runner(node, SystemClock())
    thread = Thread(target=running.run)
    thread.start()
    until = SystemClock().monotonic() + 20
    while not node.shards and SystemClock().monotonic() < until:
        SystemClock().sleep(0.01)
    running.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert fleet.refusals == -1


def test_it_can_be_ended_while_it_waits() -> None:
    world = World()
    node = world.start_node("a")
    fleet = Unanswered(world.tables)
    fleet.refusals = 1_000_000
    node.owned.ports = replace(node.owned.ports, fleet=fleet)
    running = Runner(node, SystemClock())
    thread = Thread(target=running.run)
    thread.start()
    running.stop()
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture
def signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals")
def test_sigterm_and_sigint_ask_to_stop() -> None:
    asked: list[None] = []
    wiring.stop_on_signal(lambda: asked.append(None))
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(os.getpid(), number)
    assert len(asked) == 2


# Signs of life --------------------------------------------------------------------------------------------------------


def aged(folder: Path, loop: str, seconds: float) -> None:
    path = folder / loop
    path.touch()
    moment = path.stat().st_mtime - seconds
    os.utime(path, (moment, moment))


def test_a_node_is_healthy_while_every_loop_turns(tmp_path: Path) -> None:
    for loop, longest in health.LONGEST_SECONDS.items():
        aged(tmp_path, loop, longest - 1)
    assert ask(tmp_path, health.LONGEST_SECONDS) == (0, "healthy")


@pytest.mark.parametrize("loop", health.LONGEST_SECONDS)
def test_a_loop_that_hangs_makes_it_unhealthy(tmp_path: Path, loop: str) -> None:
    for each in health.LONGEST_SECONDS:
        aged(tmp_path, each, 0)
    aged(tmp_path, loop, health.LONGEST_SECONDS[loop] + 1)
    assert ask(tmp_path, health.LONGEST_SECONDS) == (1, f"stuck: {loop}")


def test_a_node_that_has_not_begun_is_not_healthy(tmp_path: Path) -> None:
    assert ask(tmp_path, {"hot": 1.0}) == (1, "stuck: hot")
    assert ask(tmp_path / "none", {"hot": 1.0})[0] == 1
    assert ask(None, {"hot": 1.0}) == (1, "not begun: no folder for signs of life is set")


def test_signs_of_a_process_before_are_forgotten(tmp_path: Path) -> None:
    aged(tmp_path, "hot", 0)
    Pulse(tmp_path).begin()
    assert Pulse(tmp_path).silent({"hot": 1.0}) == ["hot"]


def test_without_a_folder_nothing_is_written() -> None:
    Pulse().begin()
    Pulse().beat("hot")


def test_every_loop_of_a_node_gives_signs(tmp_path: Path) -> None:
    node = World().start_node("a")
    running = Runner(node, SystemClock(), Pulse(tmp_path))
    thread = Thread(target=running.run)
    thread.start()
    try:
        deadline = SystemClock().monotonic() + 10
        while Pulse(tmp_path).silent(health.LONGEST_SECONDS) and SystemClock().monotonic() < deadline:
            SystemClock().sleep(0.01)
        assert Pulse(tmp_path).silent(health.LONGEST_SECONDS) == []
    finally:
        running.stop()
        thread.join(10)
