"""What is done to the running system, by a seed: processes are killed, frozen and stopped, tables and queues fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from threading import Event
from typing import Any, Final

from localstack.faults import Faults, Rule
from localstack.stack import Stack
from tests.soak.ledger import Ledger
from tests.soak.receiver import now_ms

#: Between two troubles, at random.
PAUSE_SECONDS: Final = (5.0, 12.0)
FROZEN_SECONDS: Final = (2.0, 14.0)
FAULTY_SECONDS: Final = (3.0, 9.0)
#: What a trouble of a worker may still be seen by: its lease, and what it had under way.
AFTERMATH_MS: Final = 20_000


def _error(service: str, code: str, status: int, probability: float) -> Rule:
    return {"service": service, "error": {"code": code, "status": status}, "probability": probability}


FAULTS: Final[tuple[Rule, ...]] = (
    _error("dynamodb", "ProvisionedThroughputExceededException", 400, 0.4),
    _error("dynamodb", "InternalServerError", 500, 0.3),
    {"service": "dynamodb", "latency": {"min": 100, "max": 400}},
    {"service": "dynamodb", "response": {"abort_bytes": 0}, "probability": 0.2},
    _error("sqs", "ServiceUnavailable", 503, 1.0),
    _error("sqs", "InternalError", 500, 0.4),
    {"service": "sqs", "response": {"abort_bytes": 0}, "probability": 0.2},
    {"service": "sqs", "latency": {"min": 100, "max": 400}},
)


@dataclass
class Chaos:
    stack: Stack
    faults: Faults
    ledger: Ledger
    random: Random
    is_over: Event
    say: Callable[[str], None]

    def run(self) -> None:
        """Until it is over; then everything runs again."""
        troubles = [
            *[lambda: self._kill("scheduler")] * 2,
            *[lambda: self._kill("worker")] * 2,
            lambda: self._stop("scheduler"),
            lambda: self._stop("worker"),
            lambda: self._freeze("scheduler"),
            lambda: self._freeze("worker"),
            *[self._fail] * 4,
        ]
        while not self.is_over.wait(self.random.uniform(*PAUSE_SECONDS)):
            self.random.choice(troubles)()
        self.faults.stop()

    def _kill(self, service: str) -> None:
        self._signal(service, signal.SIGKILL, "is killed")

    def _stop(self, service: str) -> None:
        self._signal(service, signal.SIGTERM, "is asked to end")

    def _freeze(self, service: str) -> None:
        seconds = self.random.uniform(*FROZEN_SECONDS)
        begun = now_ms()
        pid = self._signal(service, signal.SIGSTOP, f"is frozen for {seconds:.0f} s")
        if pid is None:
            return
        self.is_over.wait(seconds)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        self._note(service, begun)

    def _fail(self) -> None:
        rule: dict[str, Any] = self.random.choice(FAULTS)
        begun = now_ms()
        self.say(f"faults: {rule}")
        self.faults.make(rule)
        self.is_over.wait(self.random.uniform(*FAULTY_SECONDS))
        self.faults.stop()
        # A worker that cannot renew its leases is as good as dead.
        self._note("worker", begun)

    def _signal(self, service: str, number: signal.Signals, what: str) -> int | None:
        tasks = sorted(name for name in self.stack.tasks() if name.startswith(f"{service}-"))
        if not tasks:
            return None
        name = self.random.choice(tasks)
        pid = self.stack.tasks()[name].pid
        begun = now_ms()
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return None
        self.say(f"{name} {what}")
        self._note(service, begun)
        return pid

    def _note(self, service: str, begun: int) -> None:
        if service == "worker":
            self.ledger.worker_troubles.append((begun, now_ms() + AFTERMATH_MS))
