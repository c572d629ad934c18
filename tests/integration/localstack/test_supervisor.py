from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from localstack import processes
from localstack.processes import Running
from localstack.supervisor import Supervisor, pause_after
from localstack.task_definitions import TaskSpec
from localstack.workspace import Workspace, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDPOINT = "http://127.0.0.1:4566"
TASK = "import os, signal; print('up', os.environ['NAME'], os.environ['AWS_ENDPOINT_URL'], flush=True); signal.pause()"


def spec(name: str, *, revision: str = "1", program: str = TASK) -> TaskSpec:
    environ = (("AWS_ENDPOINT_URL", ENDPOINT), ("NAME", name))
    return TaskSpec(name, name.partition("-")[0], revision, (sys.executable, "-c", program), environ, grace_seconds=20)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def supervisor(workspace: Workspace) -> Iterator[Supervisor]:
    supervisor = Supervisor(workspace, environ={"PATH": "/usr/bin"})
    yield supervisor
    supervisor.drain()


def running(workspace: Workspace) -> dict[str, Running]:
    return {task["name"]: Running.read(task) for task in read_json(workspace.tasks).get("tasks", [])}


def says(workspace: Workspace, name: str, text: str) -> bool:
    return processes.wait_until(lambda: text in workspace.log(name).read_text(), timeout_seconds=20)


def kill(task: Running) -> None:
    os.kill(task.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: not task.is_alive(), timeout_seconds=20)


def test_what_is_wanted_runs_with_its_environment_against_the_emulator(
    supervisor: Supervisor, workspace: Workspace
) -> None:
    supervisor.want([spec("node-0"), spec("node-1")])
    supervisor.tend(0.0)

    assert all(task.is_alive() for task in running(workspace).values())
    assert says(workspace, "node-1", f"up node-1 {ENDPOINT}")


def test_a_task_has_the_credentials_of_its_role(workspace: Workspace) -> None:
    program = "import os, signal; print('as', os.environ['WHO'], flush=True); signal.pause()"
    supervisor = Supervisor(workspace, environ={"WHO": "nobody"}, credentials=lambda role: {"WHO": role})
    task = replace(spec("node-0", program=program), role="arn:of-nodes")
    try:
        supervisor.want([task])
        supervisor.tend(0.0)
        assert says(workspace, "node-0", "as arn:of-nodes")
    finally:
        supervisor.drain()


def test_a_killed_task_is_replaced_after_a_pause(supervisor: Supervisor, workspace: Workspace) -> None:
    supervisor.want([spec("node-0")])
    supervisor.tend(0.0)
    first = running(workspace)["node-0"]
    kill(first)

    supervisor.tend(10.0)
    supervisor.tend(10.99)
    assert running(workspace) == {}

    supervisor.tend(11.0)
    assert running(workspace)["node-0"].pid != first.pid


def test_pauses_grow_while_a_task_keeps_ending_and_end_growing() -> None:
    assert [pause_after(failures) for failures in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(("lived", "next_start"), [(29.9, 2.0), (30.0, 1.0)])
def test_a_task_that_had_run_well_gets_a_first_pause_again(
    supervisor: Supervisor, workspace: Workspace, lived: float, next_start: float
) -> None:
    supervisor.want([spec("node-0")])
    now = 0.0
    for lifetime in (0.0, lived):
        supervisor.tend(now)
        task = running(workspace)["node-0"]
        kill(task)
        now += lifetime
        supervisor.tend(now)
        now += 1.0

    supervisor.tend(now - 1.0 + next_start - 0.01)
    assert running(workspace) == {}
    supervisor.tend(now - 1.0 + next_start)
    assert running(workspace)


def test_a_new_definition_replaces_the_task(supervisor: Supervisor, workspace: Workspace) -> None:
    supervisor.want([spec("node-0")])
    supervisor.tend(0.0)
    old = running(workspace)["node-0"]

    supervisor.want([spec("node-0", revision="2")])
    supervisor.tend(0.1)

    assert not old.is_alive()
    assert running(workspace)["node-0"].is_alive()


def test_what_is_wanted_no_longer_stops(supervisor: Supervisor, workspace: Workspace) -> None:
    supervisor.want([spec("node-0"), spec("node-1")])
    supervisor.tend(0.0)
    tasks = running(workspace)

    supervisor.want([spec("node-0")])
    supervisor.tend(0.1)

    assert tasks["node-0"].is_alive()
    assert not tasks["node-1"].is_alive()


def test_a_drained_supervisor_leaves_no_task_and_starts_none(supervisor: Supervisor, workspace: Workspace) -> None:
    supervisor.want([spec("node-0")])
    supervisor.tend(0.0)
    task = running(workspace)["node-0"]

    supervisor.drain()
    supervisor.tend(100.0)

    assert not task.is_alive()
    assert running(workspace) == {}
