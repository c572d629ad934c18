from __future__ import annotations

import http.client
import os
import socket
from typing import TYPE_CHECKING

import pytest

from localstack import emulator, endpoints, processes, start
from localstack.environment import UnsafeTarget
from localstack.processes import Running
from localstack.workspace import Workspace, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.emulator


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind((emulator.HOST, 0))
        server.listen()
        yield server.getsockname()[1]


def test_the_emulator_answers_on_loopback_for_its_own_account(workspace: Workspace) -> None:
    port = emulator.free_port(0)
    process = emulator.launch(workspace, port)
    try:
        emulator.wait_until_ready(process, workspace, port)
        sts = endpoints.client("sts", endpoint=emulator.endpoint_of(port))

        assert sts.get_caller_identity()["Account"] == "000000000000"
    finally:
        assert processes.stop([process], grace_seconds=emulator.GRACE_SECONDS) == []
    assert not emulator.is_healthy(emulator.endpoint_of(port))


@pytest.fixture
def running(workspace: Workspace) -> Iterator[int]:
    """The port of an emulator."""
    port = emulator.free_port(0)
    process = emulator.launch(workspace, port)
    try:
        emulator.wait_until_ready(process, workspace, port)
        yield port
    finally:
        processes.stop([process], grace_seconds=emulator.GRACE_SECONDS)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", {"Host": "evil.example"}),
        ("POST", {"Origin": "https://evil.example"}),
        ("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}),
        ("OPTIONS", {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}),
    ],
)
def test_a_web_page_reads_no_table_and_is_allowed_nothing(running: int, method: str, headers: dict[str, str]) -> None:
    called = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    connection = http.client.HTTPConnection(emulator.HOST, running, timeout=10)
    try:
        connection.request(method, "/", body=b"{}", headers=called | headers)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()

    assert answer.status == 403
    assert b"TableNames" not in text
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_a_port_that_somebody_has_is_not_chosen(taken_port: int) -> None:
    assert emulator.free_port(taken_port) not in (taken_port, 0)


def test_an_emulator_that_cannot_have_its_port_is_reported_with_its_log(workspace: Workspace, taken_port: int) -> None:
    process = emulator.launch(workspace, taken_port)

    with pytest.raises(emulator.EmulatorFailed, match="already in use"):
        emulator.wait_until_ready(process, workspace, taken_port)

    assert not process.is_alive()


def test_a_stack_takes_another_port_when_it_lost_the_race_for_one(
    workspace: Workspace, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_port, looks = emulator.free_port, [taken_port]
    # Another stack was started at the same time, and had the port first.
    monkeypatch.setattr(emulator, "free_port", lambda usual: looks.pop() if looks else free_port(usual))

    state = start._start_emulator(workspace, lambda _: None, enforces_roles=False)
    try:
        assert emulator.is_healthy(state["endpoint"])
        assert read_json(workspace.state)["endpoint"] == state["endpoint"] != emulator.endpoint_of(taken_port)
    finally:
        processes.stop([Running.read(state["emulator"])], grace_seconds=emulator.GRACE_SECONDS)


def test_a_foreign_server_is_used_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CARILLON_ADOPT", raising=False)
    assert emulator.adopted_endpoint() is None

    monkeypatch.setenv("CARILLON_ADOPT", "1")
    assert emulator.adopted_endpoint() == "http://127.0.0.1:4566"

    monkeypatch.setenv("CARILLON_ADOPT", "http://localhost:4600/")
    assert emulator.adopted_endpoint() == "http://localhost:4600"

    monkeypatch.setenv("CARILLON_ADOPT", "https://sqs.us-east-1.amazonaws.com")
    with pytest.raises(UnsafeTarget):
        emulator.adopted_endpoint()


def test_a_client_of_another_endpoint_than_the_local_stack_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "AWS_ENDPOINT_URL", "https://sqs.us-east-1.amazonaws.com")

    with pytest.raises(UnsafeTarget, match="amazonaws"):
        endpoints.sqs("http://127.0.0.1:4566")
