"""Stands in for ECS: keeps as many processes running as each service wants tasks.

The emulator says of every task that it runs and starts none. This process reads what is wanted and, like ECS, starts
what is missing, replaces what ended (with growing pauses when it keeps ending) or belongs to an old definition, and
stops what is too much. Asked to end, it asks every task to end and waits for as long as their definitions allow.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from localstack import endpoints, processes, roles
from localstack.environment import require_loopback, scrubbed
from localstack.processes import Running
from localstack.task_definitions import TaskSpec, wanted_tasks
from localstack.workspace import Workspace, read_json, write_json
from shared.config import CLOCK_ERROR_VARIABLE, PULSE_FOLDER_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mypy_boto3_ecs import ECSClient

TEND_SECONDS = 0.1
LOOK_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
# A task that ran this long had started well; the next pause is a first one again.
STEADY_SECONDS = 30.0


@dataclass
class Place:
    """Where one task runs, and what is known of those that ran there before."""

    spec: TaskSpec
    process: Running | None = None
    started_at: float = 0.0
    failures: int = 0
    not_before: float = 0.0

    def note_end(self, now: float) -> None:
        self.failures = 1 if now - self.started_at >= STEADY_SECONDS else self.failures + 1
        self.not_before = now + pause_after(self.failures)
        self.process = None


def pause_after(failures: int) -> float:
    """Seconds until the next start, after that many starts in a row that did not last."""
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * float(2 ** (failures - 1)))


class Supervisor:
    """`credentials` are those of a role, as variables; without them, tasks have worthless keys."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        environ: Mapping[str, str],
        credentials: Callable[[str], Mapping[str, str]] = lambda _role: {},
    ) -> None:
        self._workspace = workspace
        self._environ = environ
        self._credentials = credentials
        self._places: dict[str, Place] = {}
        self._logged: set[str] = set()

    def want(self, specs: Sequence[TaskSpec]) -> None:
        """Stops what is wanted no longer, and makes places for what is new."""
        wanted = {spec.name: spec for spec in specs}
        leaving = [place for name, place in self._places.items() if wanted.get(name) != place.spec]
        self._stop(leaving)
        for place in leaving:
            del self._places[place.spec.name]
        for name, spec in wanted.items():
            self._places.setdefault(name, Place(spec))

    def tend(self, now: float) -> None:
        """Starts what does not run, unless it is in a pause."""
        for place in self._places.values():
            self._notice_end(place, now)
            if place.process is None and now >= place.not_before:
                place.process = self._start(place)
                place.started_at = now
                self._record()

    def drain(self) -> None:
        """Stops everything, and starts nothing any more."""
        self._stop(list(self._places.values()))
        self._places.clear()
        self._record()

    def _notice_end(self, place: Place, now: float) -> None:
        process = place.process
        if process is None or process.is_alive():
            return
        code = process.exit_code()
        place.note_end(now)
        say(f"{place.spec.name} (pid {process.pid}) ended with {code}; next start in {place.not_before - now:.0f} s")
        self._record()

    def _start(self, place: Place) -> Running:
        spec = place.spec
        pulse = str(self._workspace.subfolder("pulses") / spec.name)
        environ = {**self._environ, **self._credentials(spec.role), **dict(spec.environ), PULSE_FOLDER_VARIABLE: pulse}
        clock_error = self._workspace.clock_error(spec.service)
        if clock_error.exists():
            environ[CLOCK_ERROR_VARIABLE] = str(clock_error)
        process = processes.start(
            spec.name,
            spec.command,
            environ=environ,
            folder=self._workspace.subfolder("tasks"),
            log=self._workspace.log(spec.name),
            append=spec.name in self._logged,
        )
        self._logged.add(spec.name)
        say(f"{spec.name} started as pid {process.pid}")
        return process

    def _stop(self, places: Sequence[Place]) -> None:
        running = [place.process for place in places if place.process is not None]
        if not running:
            return
        grace = max(place.spec.grace_seconds for place in places)
        for process in processes.stop(running, grace_seconds=grace):
            say(f"{process.name} (pid {process.pid}) did not end within {grace} s and was killed")
        say("stopped " + ", ".join(process.name for process in running))

    def _record(self) -> None:
        """So that others find the tasks, even those that this process left behind when it was killed."""
        tasks = [
            {**place.process.written(), "service": place.spec.service}
            for place in self._places.values()
            if place.process is not None
        ]
        write_json(self._workspace.tasks, {"tasks": tasks})


def read_wanted(ecs: ECSClient, *, cluster: str, services: Mapping[str, str], endpoint: str) -> list[TaskSpec]:
    """What the deployed services want; `services` maps the name used here to the deployed one.

    `endpoint` is where the tasks find AWS: when it changes they are replaced.
    """
    require_loopback(endpoint)
    described = {
        service["serviceName"]: service
        for service in ecs.describe_services(cluster=cluster, services=list(services.values()))["services"]
    }
    specs: list[TaskSpec] = []
    for name, deployed in services.items():
        service = described[deployed]
        definition = ecs.describe_task_definition(taskDefinition=service["taskDefinition"])["taskDefinition"]
        specs += wanted_tasks(name, service, definition, python=sys.executable, endpoint=endpoint)
    return specs


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def run(workspace: Workspace, asked_to_end: threading.Event) -> None:
    state: dict[str, Any] = read_json(workspace.state)
    ecs = endpoints.ecs(state["endpoint"])
    environ = scrubbed(os.environ, endpoint=state["endpoint"])
    if state.get("enforces_roles"):
        supervisor = Supervisor(workspace, environ=environ, credentials=partial(roles.assume, state["endpoint"]))
    else:
        supervisor = Supervisor(workspace, environ=environ)
    next_look = 0.0
    try:
        while not asked_to_end.is_set():
            now = time.monotonic()
            if now >= next_look:
                _look(supervisor, ecs, state, read_json(workspace.route).get("endpoint", state["endpoint"]))
                next_look = now + LOOK_SECONDS
            supervisor.tend(time.monotonic())
            asked_to_end.wait(TEND_SECONDS)
    finally:
        supervisor.drain()


def _look(supervisor: Supervisor, ecs: ECSClient, state: Mapping[str, Any], endpoint: str) -> None:
    try:
        specs = read_wanted(ecs, cluster=state["cluster"], services=state["services"], endpoint=endpoint)
    except (BotoCoreError, ClientError) as error:
        say(f"the emulator does not say what is wanted, so nothing changes: {error}")
        return
    supervisor.want(specs)


def main(arguments: Sequence[str]) -> None:
    asked_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_end.set())
    run(Workspace(Path(arguments[0])), asked_to_end)


if __name__ == "__main__":
    main(sys.argv[1:])
