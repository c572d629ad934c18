from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from functions.worker.protection import IDLE_MS, PROTECTED_MS, Protection
from shared.adapters.ecs import EcsAgent, NoTaskProtection
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

    def protect(self, *, minutes: int) -> None:
        self._tell(minutes)

    def release(self) -> None:
        self._tell(None)

    def _tell(self, minutes: int | None) -> None:
        self.edges.append(minutes)
        if self.is_broken:
            raise OutcomeUnknown("ecs.task_protection", "on purpose")


FULL = PROTECTED_MS // MINUTE


def test_a_worker_without_work_asks_for_nothing() -> None:
    task, clock = Told(), ManualClock()
    protection = Protection(task, clock)
    for _ in range(100):
        protection.look(is_busy=False)
        clock.advance(SECOND)

    assert task.edges == []


def test_work_is_protected_once_and_released_a_while_after_its_end() -> None:
    task, clock = Told(), ManualClock()
    protection = Protection(task, clock)
    for is_busy in (True, True, False, True, True):
        protection.look(is_busy=is_busy)
        clock.advance(SECOND)
    assert task.edges == [FULL]

    clock.advance(IDLE_MS - SECOND - 1)
    protection.look(is_busy=False)
    assert task.edges == [FULL]
    clock.advance(1)
    protection.look(is_busy=False)
    protection.look(is_busy=False)
    assert task.edges == [FULL, None]


def test_protection_always_covers_the_longest_run_that_may_begin_now() -> None:
    task, clock = Told(), ManualClock()
    protection = Protection(task, clock)
    covered_until = 0.0
    for _ in range(0, 48 * HOUR, MINUTE):
        asked = len(task.edges)
        protection.look(is_busy=True)
        if len(task.edges) > asked:
            covered_until = clock.monotonic() + PROTECTED_MS / SECOND
        assert covered_until - clock.monotonic() >= MAX_TIMEOUT_MS / SECOND
        clock.advance(MINUTE)

    assert len(task.edges) < 60
    assert FULL <= 2_880


def test_what_could_not_be_said_is_said_again_after_a_pause() -> None:
    task, clock = Told(), ManualClock()
    protection = Protection(task, clock)
    task.is_broken = True
    protection.look(is_busy=True)
    clock.advance(10 * SECOND - 1)
    protection.look(is_busy=True)
    assert len(task.edges) == 1

    task.is_broken = False
    clock.advance(1)
    protection.look(is_busy=True)
    protection.look(is_busy=True)
    assert task.edges == [FULL, FULL]
