from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.worker.protection import IDLE_MS, LOOK_MS, PATIENCE_MS, Protection
from shared.adapters.ecs import EcsAgent, EcsService, NoTaskProtection
from shared.adapters.memory import ManualClock
from shared.domain.errors import OutcomeUnknown, StoreError, WriteRefused
from shared.domain.instants import HOUR, MINUTE, SECOND
from shared.domain.limits import MAX_TIMEOUT_MS


class Agent(BaseHTTPRequestHandler):
    """The agent's endpoint on loopback: remembers what it is asked, and answers as it is told."""

    asked: list[tuple[str, Any]]
    answer: tuple[int, bytes]

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.asked.append((self.path, json.loads(body)))
        status, content = self.answer
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def agent() -> Iterator[tuple[EcsAgent, type[Agent]]]:
    kind = type("OwnAgent", (Agent,), {"asked": [], "answer": (200, b'{"protection": {}}')})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield EcsAgent(f"http://127.0.0.1:{server.server_port}/api/1"), kind
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_agent_is_told_of_both_edges(agent: tuple[EcsAgent, type[Agent]]) -> None:
    task, server = agent
    task.protect(minutes=720)
    task.release()

    assert server.asked == [
        ("/api/1/task-protection/v1/state", {"ProtectionEnabled": True, "ExpiresInMinutes": 720}),
        ("/api/1/task-protection/v1/state", {"ProtectionEnabled": False}),
    ]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ((400, b'{"error": {"Code": "AccessDeniedException"}}'), WriteRefused),
        ((200, b'{"failure": {"Reason": "DEPLOYMENT_BLOCKED"}}'), WriteRefused),
        ((200, b"[]"), WriteRefused),
        ((500, b"oops"), OutcomeUnknown),
    ],
)
def test_a_refusal_of_the_agent_is_told(
    agent: tuple[EcsAgent, type[Agent]], answer: tuple[int, bytes], fault: type[StoreError]
) -> None:
    task, server = agent
    server.answer = answer

    with pytest.raises(fault):
        task.protect(minutes=1)


def test_an_agent_that_is_not_there_is_told() -> None:
    with pytest.raises(OutcomeUnknown):
        EcsAgent("http://127.0.0.1:1").protect(minutes=1)


class Told(NoTaskProtection):
    def __init__(self) -> None:
        self.edges: list[int | None] = []
        self.is_broken = False
        self.has_successor = False

    def protect(self, *, minutes: int) -> None:
        self._tell(minutes)

    def release(self) -> None:
        self._tell(None)

    def is_superseded(self) -> bool:
        return self.has_successor

    def _tell(self, minutes: int | None) -> None:
        self.edges.append(minutes)
        if self.is_broken:
            raise OutcomeUnknown("ecs.task_protection", "on purpose")


STOP_MS = 110 * SECOND


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def task() -> Told:
    return Told()


@pytest.fixture
def protection(task: Told, clock: ManualClock) -> Protection:
    return Protection(task, clock, stop_ms=STOP_MS)


def test_a_worker_that_is_always_busy_with_short_runs_may_be_stopped_at_any_time(
    task: Told, clock: ManualClock, protection: Protection
) -> None:
    for _ in range(10_000):
        protection.look(longest_ms=STOP_MS)
        clock.advance(SECOND)

    assert task.edges == []


def test_a_long_run_is_protected_for_as_long_as_it_needs_and_released_a_while_after_its_end(
    task: Told, clock: ManualClock, protection: Protection
) -> None:
    for longest_ms in (HOUR, HOUR - SECOND, 0, HOUR, HOUR - SECOND):
        protection.look(longest_ms=longest_ms)
        clock.advance(SECOND)
    assert task.edges == [90]

    clock.advance(IDLE_MS - SECOND - 1)
    protection.look(longest_ms=0)
    assert task.edges == [90]
    clock.advance(1)
    protection.look(longest_ms=0)
    protection.look(longest_ms=0)
    assert task.edges == [90, None]


def test_protection_covers_every_long_run_that_goes_on(task: Told, clock: ManualClock, protection: Protection) -> None:
    covered_until = 0.0
    for _ in range(0, 48 * HOUR, MINUTE):
        asked = len(task.edges)
        protection.look(longest_ms=MAX_TIMEOUT_MS)
        if len(task.edges) > asked:
            minutes = task.edges[-1]
            assert minutes is not None
            covered_until = clock.monotonic() + minutes * 60
        assert covered_until - clock.monotonic() >= MAX_TIMEOUT_MS / SECOND
        clock.advance(MINUTE)

    assert len(task.edges) < 120
    assert max(filter(None, task.edges)) <= 2_880


def test_what_could_not_be_said_is_said_again_after_a_pause(
    task: Told, clock: ManualClock, protection: Protection
) -> None:
    task.is_broken = True
    protection.look(longest_ms=HOUR)
    clock.advance(10 * SECOND - 1)
    protection.look(longest_ms=HOUR)
    assert len(task.edges) == 1

    task.is_broken = False
    clock.advance(1)
    protection.look(longest_ms=HOUR)
    protection.look(longest_ms=HOUR)
    assert task.edges == [90, 90]


def supersede(task: Told, clock: ManualClock, protection: Protection, *, longest_ms: float) -> None:
    task.has_successor = True
    for _ in range(2):
        clock.advance(LOOK_MS)
        protection.look(longest_ms=longest_ms)


@pytest.mark.parametrize("longest_ms", [0, STOP_MS])
def test_a_superseded_task_with_short_runs_or_none_may_end_at_once(
    task: Told, clock: ManualClock, protection: Protection, longest_ms: int
) -> None:
    protection.look(longest_ms=longest_ms)
    assert not protection.may_end(longest_ms=longest_ms)

    supersede(task, clock, protection, longest_ms=longest_ms)

    assert protection.is_superseded
    assert protection.may_end(longest_ms=longest_ms)


def test_a_superseded_task_waits_for_its_long_runs_but_never_beyond_the_patience_of_a_deployment(
    task: Told, clock: ManualClock, protection: Protection
) -> None:
    protection.look(longest_ms=10 * HOUR)
    supersede(task, clock, protection, longest_ms=10 * HOUR)
    superseded_at = clock.now()
    protected_until: int = clock.now()

    while not protection.may_end(longest_ms=10 * HOUR):
        asked = len(task.edges)
        protection.look(longest_ms=10 * HOUR)
        if len(task.edges) > asked and task.edges[-1] is not None:
            protected_until = max(protected_until, clock.now() + task.edges[-1] * MINUTE)
        clock.advance(10 * SECOND)

    waited_ms = clock.now() - superseded_at
    assert PATIENCE_MS <= waited_ms <= PATIENCE_MS + MINUTE
    assert waited_ms + STOP_MS + 2 * LOOK_MS < 3 * HOUR
    assert protected_until <= superseded_at + PATIENCE_MS
    assert not any(edge is not None and edge > 151 for edge in task.edges[1:])


def test_one_look_alone_supersedes_nobody_and_one_that_fails_neither(
    task: Told, clock: ManualClock, protection: Protection
) -> None:
    for has_successor in (True, False) * 20:
        task.has_successor = has_successor
        clock.advance(LOOK_MS)
        protection.look(longest_ms=0)
    assert not protection.is_superseded


class Ecs:
    """The newest definition, or a refusal."""

    def __init__(self, newest: str | None) -> None:
        self.newest = newest

    def describe_services(self, *, cluster: str, services: list[str]) -> dict[str, Any]:
        assert (cluster, services) == ("arn:cluster", ["worker"])
        if self.newest is None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "DescribeServices")
        active = {"status": "ACTIVE", "taskDefinition": "arn:aws:ecs:r:1:task-definition/worker:7"}
        primary = {"status": "PRIMARY", "taskDefinition": f"arn:aws:ecs:r:1:task-definition/{self.newest}"}
        return {"services": [{"deployments": [active, primary]}]}


class Metadata(BaseHTTPRequestHandler):
    """The endpoint that tells a task of itself."""

    def do_GET(self) -> None:
        task = {"Cluster": "arn:cluster", "ServiceName": "worker", "Family": "worker", "Revision": "7", "More": 1}
        content = json.dumps(task if self.path == "/v4/task" else {}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def metadata() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(("newest", "is_superseded"), [("worker:7", False), ("worker:8", True), ("worker:6", True)])
def test_a_task_is_superseded_when_its_service_starts_another_definition(
    metadata: str, newest: str, is_superseded: bool
) -> None:
    task = EcsAgent("http://127.0.0.1:1", EcsService(f"{metadata}/v4", lambda: Ecs(newest)))

    assert task.is_superseded() is is_superseded


def test_a_look_that_is_refused_or_knows_no_service_is_told(metadata: str) -> None:
    with pytest.raises(WriteRefused):
        EcsService(f"{metadata}/v4", lambda: Ecs(None)).is_superseded()
    with pytest.raises(OutcomeUnknown):
        EcsService(f"{metadata}/elsewhere", lambda: Ecs("worker:7")).is_superseded()
    with pytest.raises(OutcomeUnknown):
        EcsService("http://127.0.0.1:1", lambda: Ecs("worker:7")).is_superseded()
    assert not EcsAgent("http://127.0.0.1:1").is_superseded()
    assert not NoTaskProtection().is_superseded()
