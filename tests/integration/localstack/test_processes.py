from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from localstack import processes
from localstack.processes import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

OBEDIENT = "print('up', flush=True); import signal; signal.pause()"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True)\nwhile True: signal.pause()"
)
PARENT = f"""
import subprocess, sys, signal
child = subprocess.Popen([sys.executable, "-c", {OBEDIENT!r}])
print(child.pid, 'up', flush=True)
signal.pause()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Running]]:
    """Starts a program and waits until it says that it is up."""
    started: list[Running] = []

    def begin(program: str) -> Running:
        log = tmp_path / f"{len(started)}.log"
        command = [sys.executable, "-c", program]
        started.append(processes.start("probe", command, environ={}, folder=tmp_path, log=log))
        assert processes.wait_until(lambda: "up" in log.read_text(), timeout_seconds=20)
        return started[-1]

    yield begin
    for process in started:
        processes._kill_group(process)
    processes.stop(started, grace_seconds=5)


def test_a_process_is_found_again_from_its_record(start: Callable[[str], Running]) -> None:
    process = start(OBEDIENT)

    assert Running.read(process.written()).is_alive()


def test_a_process_ends_when_it_is_asked(start: Callable[[str], Running]) -> None:
    process = start(OBEDIENT)

    assert processes.stop([process], grace_seconds=20) == []
    assert not process.is_alive()
    assert process.exit_code() == -15


def test_one_that_does_not_listen_is_ended_with_force(start: Callable[[str], Running]) -> None:
    process = start(STUBBORN)

    assert processes.stop([process], grace_seconds=0.2) == [process]
    assert process.exit_code() == -9


def test_what_it_started_ends_with_it(start: Callable[[str], Running], tmp_path: Path) -> None:
    process = start(PARENT)
    child = int((tmp_path / "0.log").read_text().split()[0])
    assert processes.start_of(child) is not None

    processes.stop([process], grace_seconds=0.2)

    assert processes.start_of(child) is None


def test_another_process_that_got_the_same_pid_is_left_alone(start: Callable[[str], Running]) -> None:
    other = start(OBEDIENT)
    ended_long_ago = replace(other, started="before")

    assert not ended_long_ago.is_alive()
    assert processes.stop([ended_long_ago], grace_seconds=0.2) == []
    assert other.is_alive()


def test_a_pid_of_nobody_is_not_alive() -> None:
    assert not Running("gone", 2**22 + 1, "before").is_alive()
