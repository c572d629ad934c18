"""Faults on demand: a proxy between the tasks and the emulator that throttles, fails, delays or loses as it is told.

The emulator itself never does. The proxy is microburst; what it takes is a list of rules, such as

    {"service": "dynamodb", "operation": "PutItem", "error": {"code": "InternalServerError", "status": 500}}
    {"service": "sqs", "latency": {"min": 300, "max": 400}, "probability": 0.5}
    {"service": "dynamodb", "response": {"abort_bytes": 0}}        the call is carried out, and its answer lost
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localstack import processes
from localstack.emulator import ANY_PORT, HOST, endpoint_of, free_port
from localstack.environment import require_loopback, scrubbed
from localstack.toolchain.microburst import ensure_microburst
from localstack.toolchain.uv import ensure_uv
from localstack.toolchain.uv_settings import uv_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from localstack.workspace import Workspace

NAME = "faults"
READY_SECONDS = 20.0
GRACE_SECONDS = 5.0

Rule = dict[str, Any]


class FaultsFailed(Exception):
    """The proxy did not come up, or took no rules; the text says why."""


@dataclass(frozen=True)
class Faults:
    """A running proxy: whoever calls `endpoint` calls the emulator, through its rules."""

    endpoint: str

    def make(self, *rules: Rule) -> None:
        """These faults, and no others any more."""
        self._ask("POST", "rules", [*rules])

    def stop(self) -> None:
        """All is well again."""
        self._ask("POST", "rules", [])

    def made(self) -> int:
        """How many calls have met these faults."""
        return sum(rule["fired_count"] for rule in self._ask("GET", "rules"))

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - loopback, by construction
            f"{self.endpoint}/_microburst/{path}",
            data=data,
            method=method,
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=10) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise FaultsFailed(f"{method} {path}: {error.status} {error.read().decode(errors='replace')}") from error
        return json.loads(text) if text else None


@contextmanager
def faults(workspace: Workspace, endpoint: str) -> Iterator[Faults]:
    """A proxy in front of the emulator at `endpoint`, until the block ends.

    Raises:
        FaultsFailed: it did not come up.
        SetupProblem: it could not be installed.
        UnsafeTarget: the endpoint is not on this machine.
    """
    require_loopback(endpoint)
    environ = uv_environment(os.environ)
    program = ensure_microburst(ensure_uv(environ), environ)
    port = free_port(ANY_PORT)
    process = processes.start(
        NAME,
        [str(program), "--upstream", endpoint, "--host", HOST, "--port", str(port)],
        environ=scrubbed(os.environ),
        folder=workspace.subfolder(NAME),
        log=workspace.log(NAME),
    )
    try:
        running = Faults(endpoint_of(port))
        _wait_until_ready(running, process, workspace)
        yield running
    finally:
        processes.stop([process], grace_seconds=GRACE_SECONDS)


def _wait_until_ready(running: Faults, process: processes.Running, workspace: Workspace) -> None:
    def answers() -> bool:
        try:
            running.made()
        except (FaultsFailed, OSError):
            return False
        return True

    processes.wait_until(lambda: not process.is_alive() or answers(), timeout_seconds=READY_SECONDS)
    if not (process.is_alive() and answers()):
        raise FaultsFailed(f"microburst did not come up on {running.endpoint}:\n{workspace.tail(NAME)}")
