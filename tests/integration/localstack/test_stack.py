from __future__ import annotations

import os
import signal
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from localstack import emulator, endpoints, processes, stack, start
from localstack.deploy import DeployFailed, deploy, require_local_emulator
from localstack.environment import UnsafeTarget
from localstack.processes import Running
from localstack.stack import Stack
from localstack.workspace import Workspace, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(300)]

SMALL_APP = Path(__file__).with_name("small_app")
TASKS = {"scheduler-0", "scheduler-1", "worker-0"}


@pytest.fixture(scope="module", autouse=True)
def narrow_sources() -> Iterator[None]:
    """The sources of the product have nothing to do with the small app."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start, "SOURCES", ("localstack",))
        yield


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path_factory.mktemp("workspace"))
    yield workspace
    stack.down(workspace)


@pytest.fixture
def small(workspace: Workspace) -> Stack:
    return stack.up(workspace, app=SMALL_APP)


def server_of(workspace: Workspace) -> Running:
    return Running.read(read_json(workspace.state)["emulator"])


def kill(process: Running) -> None:
    os.kill(process.pid, signal.SIGKILL)
    assert processes.wait_until(lambda: not process.is_alive(), timeout_seconds=20)


def test_the_deployed_api_answers(small: Stack) -> None:
    with urllib.request.urlopen(small.api_url + "/anything", timeout=30) as answer:  # noqa: S310 - our own
        assert answer.read() == b"hello"


def test_what_the_emulator_drops_is_set(small: Stack) -> None:
    dynamodb = endpoints.dynamodb(small.endpoint)
    table = small.outputs["JobsTable"]

    ttl = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]

    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expires_at")
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


def test_tasks_run_with_their_deployed_environment_against_the_emulator(small: Stack) -> None:
    expected = f"task {small.outputs['JobsTable']} {small.endpoint}"

    assert small.tasks().keys() == TASKS
    logs = [small.workspace.log(name) for name in TASKS]
    assert processes.wait_until(lambda: all(expected in log.read_text() for log in logs), timeout_seconds=20)


def test_a_second_start_finds_the_first(small: Stack) -> None:
    server, tasks = server_of(small.workspace), small.tasks()

    assert stack.up(small.workspace, app=SMALL_APP) == small
    assert server_of(small.workspace) == server
    assert small.tasks() == tasks


def test_a_start_of_other_sources_renews_the_stack_that_runs(small: Stack, workspace: Workspace) -> None:
    server, tasks = server_of(workspace), small.tasks()

    renewed = stack.up(workspace, app=SMALL_APP, settings={"network": {}})

    assert server_of(workspace) == server
    assert (renewed.api_url, renewed.key) == (small.api_url, small.key)
    assert renewed.tasks().keys() == tasks.keys()
    assert not set(renewed.tasks().values()) & set(tasks.values())
    # Its settings are its own until others are given.
    assert stack.up(workspace, app=SMALL_APP).tasks() == renewed.tasks()


def test_a_service_can_be_scaled(small: Stack) -> None:
    small.scale("worker", 2)
    assert small.tasks().keys() == TASKS | {"worker-1"}

    small.scale("worker", 1)
    assert small.tasks().keys() == TASKS


def test_a_killed_task_comes_back_as_another(small: Stack) -> None:
    before = small.tasks()["scheduler-0"]
    kill(before)

    small.wait_for_tasks("scheduler", 2)
    assert small.tasks()["scheduler-0"].pid != before.pid


def test_a_killed_emulator_is_replaced_with_everything_that_hung_on_it(small: Stack) -> None:
    server, tasks = server_of(small.workspace), small.tasks()
    kill(server)

    again = stack.up(small.workspace, app=SMALL_APP)

    assert server_of(again.workspace).is_alive()
    assert not [task for task in tasks.values() if task.is_alive()]
    assert again.tasks().keys() == TASKS


def test_a_borrowed_stack_goes_with_its_last_user(workspace: Workspace) -> None:
    stack.down(workspace)

    with stack.borrowed(workspace, app=SMALL_APP) as first:
        server = server_of(workspace)
        with stack.borrowed(workspace, app=SMALL_APP) as second:
            assert second == first
        assert server.is_alive()

    assert not server.is_alive()
    assert not workspace.state.exists()


def test_a_stack_that_was_up_stays_up_after_it_was_borrowed(small: Stack) -> None:
    server = server_of(small.workspace)

    with stack.borrowed(small.workspace, app=SMALL_APP) as borrowed:
        assert borrowed == small

    assert server.is_alive()


def test_tasks_of_a_killed_supervisor_are_ended_by_down(small: Stack) -> None:
    state, tasks = read_json(small.workspace.state), small.tasks()
    kill(Running.read(state["supervisor"]))
    assert all(task.is_alive() for task in tasks.values())

    stack.down(small.workspace)

    assert not [task for task in tasks.values() if task.is_alive()]
    assert not Running.read(state["emulator"]).is_alive()
    assert not emulator.is_healthy(small.endpoint)
    assert not small.workspace.state.exists()


def test_a_deploy_that_outlived_its_up_is_ended_by_down(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    command = [sys.executable, "-c", "import signal; signal.pause()"]
    step = processes.start("cdk-deploy", command, environ={}, folder=tmp_path, log=workspace.log("cdk-deploy"))
    write_json(workspace.steps, {"steps": [step.written()]})

    stack.down(workspace)

    assert not step.is_alive()


def test_down_without_anything_up_is_fine(tmp_path: Path) -> None:
    stack.down(Workspace(tmp_path))


def test_nothing_is_deployed_to_an_address_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(UnsafeTarget, match="loopback"):
        deploy(Workspace(tmp_path), "https://cloudformation.us-east-1.amazonaws.com", app=SMALL_APP)


def test_nothing_is_deployed_to_another_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(emulator, "ACCOUNT", "123456789012")
    workspace, port = Workspace(tmp_path), emulator.free_port(0)
    server = emulator.launch(workspace, port)
    try:
        emulator.wait_until_ready(server, workspace, port)
        with pytest.raises(UnsafeTarget, match="123456789012"):
            require_local_emulator(emulator.endpoint_of(port))
    finally:
        processes.stop([server], grace_seconds=emulator.GRACE_SECONDS)


def test_a_failed_start_says_why_and_leaves_nothing_running(tmp_path: Path) -> None:
    broken = tmp_path / "app"
    broken.mkdir()
    (broken / "cdk.json").write_text('{"app": "python -P -c \'raise SystemExit(\\"no such thing\\")\'"}')
    workspace = Workspace(tmp_path)
    said: list[str] = []

    with pytest.raises(DeployFailed, match="no such thing"):
        stack.up(workspace, app=broken, say=said.append)

    assert said[-1] == "the local stack is down"
    assert not workspace.state.exists()
