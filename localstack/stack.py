"""The whole system on this machine: `up` brings it up, `down` leaves nothing running, `borrowed` does both for a test.

Started, it is: one emulator with the CDK app deployed into it, and one supervisor that runs the ECS tasks. What runs
is written down before it is waited for, so whatever ends this process, the next `up` or `down` finds it.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localstack import emulator, endpoints, processes
from localstack.deploy import deploy
from localstack.environment import scrubbed
from localstack.keys import issue_demo_key
from localstack.processes import Running
from localstack.readiness import NotReady, wait_for_api, wait_for_fleet
from localstack.toolchain.paths import INFRA, ROOT
from localstack.verify import complete
from localstack.workspace import Workspace, read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

# Longer than any task may take to end: the supervisor waits for all of them.
SUPERVISOR_GRACE_SECONDS = 45.0
TASKS_SECONDS = 30.0
SERVICE_OUTPUT = "ServiceName"
# What the stack is made of: while none of it changes, a running stack is the right one.
SOURCES = ("shared", "functions", "carillon", "infra", "localstack")
NOT_SOURCES = frozenset(("node_modules", "cdk.out", "__pycache__"))


class StackFailed(Exception):
    """The local stack did not come up; the text says which part, and where its log is."""


@dataclass(frozen=True)
class Stack:
    """A local stack that is up. `outputs` are those of CloudFormation; `key` is an admin key of the demo's owner."""

    workspace: Workspace
    endpoint: str
    outputs: Mapping[str, str]
    key: str

    @property
    def api_url(self) -> str:
        """Where the HTTP API answers. Its own host name needs a DNS that most machines have not."""
        return f"{self.endpoint}/_aws/execute-api/{self.outputs['ApiId']}"

    def tasks(self) -> dict[str, Running]:
        """The tasks that run now, by names such as `scheduler-0`."""
        running = [Running.read(task) for task in read_json(self.workspace.tasks).get("tasks", [])]
        return {task.name: task for task in running if task.is_alive()}

    def scale(self, service: str, desired: int) -> None:
        """Asks for so many tasks of a service, such as `scheduler`, and waits until they run."""
        endpoints.ecs(self.endpoint).update_service(
            cluster=self.outputs["ClusterName"], service=services_of(self.outputs)[service], desiredCount=desired
        )
        self.wait_for_tasks(service, desired)

    def wait_for_tasks(self, service: str, desired: int) -> None:
        """Waits until so many tasks of the service run.

        Raises:
            StackFailed: they do not, in time.
        """

        def runs() -> bool:
            return sum(1 for name in self.tasks() if name.rpartition("-")[0] == service) == desired

        if not processes.wait_until(runs, timeout_seconds=TASKS_SECONDS):
            logs = self.workspace.folder / "logs"
            raise StackFailed(f"{service} does not run {desired} tasks: see {logs}/supervisor.log and {service}-0.log")


def up(workspace: Workspace | None = None, *, app: Path = INFRA, say: Callable[[str], None] = print) -> Stack:
    """The local stack of this checkout: the one that runs, if it is of the same sources, else a new one.

    Raises:
        StackFailed, EmulatorFailed, DeployFailed, SettingsDiffer: it did not come up. Nothing is left running.
        UnsafeTarget: it would not have been this machine's emulator.
    """
    workspace = workspace or Workspace()
    with workspace.locked():
        state = read_json(workspace.state)
        fingerprint = _fingerprint(app)
        if _is_up(state) and state["fingerprint"] == fingerprint:
            say("the local stack is up already")
            return _stack(workspace, state)
        clear(workspace, say=say)
        try:
            return _bring_up(workspace, app, fingerprint, say)
        except BaseException:
            clear(workspace, say=say)
            raise


def down(workspace: Workspace | None = None, *, say: Callable[[str], None] = print) -> None:
    """Stops whatever runs of the local stack, also what a killed one left behind."""
    workspace = workspace or Workspace()
    with workspace.locked():
        clear(workspace, say=say)


@contextmanager
def borrowed(workspace: Workspace | None = None, *, say: Callable[[str], None] = print) -> Iterator[Stack]:
    """A stack for the time of a demo or a test; stopped at the end unless it was up before."""
    workspace = workspace or Workspace()
    was_up = _is_up(read_json(workspace.state))
    stack = up(workspace, say=say)
    try:
        yield stack
    finally:
        if not was_up:
            down(workspace, say=say)


def services_of(outputs: Mapping[str, str]) -> dict[str, str]:
    """The deployed ECS services by the names used here: `SchedulerServiceName` is `scheduler`."""
    return {
        key.removesuffix(SERVICE_OUTPUT).lower(): name for key, name in outputs.items() if key.endswith(SERVICE_OUTPUT)
    }


def clear(workspace: Workspace, *, say: Callable[[str], None]) -> None:
    """Ends what the state names, tasks first, and forgets it. The logs stay."""
    state = read_json(workspace.state)
    # A deploy outlives the `up` that was killed, and would go on with the next emulator.
    steps = [Running.read(step) for step in read_json(workspace.steps).get("steps", [])]
    processes.stop(steps, grace_seconds=processes.FINISH_GRACE_SECONDS)
    supervisor = [Running.read(state["supervisor"])] if "supervisor" in state else []
    processes.stop(supervisor, grace_seconds=SUPERVISOR_GRACE_SECONDS)
    # Only a killed supervisor leaves tasks.
    orphans = [Running.read(task) for task in read_json(workspace.tasks).get("tasks", [])]
    processes.stop([task for task in orphans if task.is_alive()], grace_seconds=SUPERVISOR_GRACE_SECONDS)
    server = [Running.read(state["emulator"])] if "emulator" in state else []
    processes.stop(server, grace_seconds=emulator.GRACE_SECONDS)
    for path in (workspace.state, workspace.tasks, workspace.steps, workspace.outputs):
        path.unlink(missing_ok=True)
    if state:
        say("the local stack is down")


def _bring_up(workspace: Workspace, app: Path, fingerprint: str, say: Callable[[str], None]) -> Stack:
    state = _start_emulator(workspace, say)
    endpoint = state["endpoint"]
    say("deploying the CDK app into it (half a minute or so)")
    outputs = deploy(workspace, endpoint, app=app)
    changed = complete(workspace.assembly, endpoint)
    workspace.log("verify").write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    say(f"deployed; what the emulator had dropped of {len(changed)} resources was set by API (logs/verify.log)")
    state |= {"outputs": outputs, "cluster": outputs["ClusterName"], "services": services_of(outputs)}
    state |= {"key": issue_demo_key(endpoint, outputs)}
    stack = _stack(workspace, state)
    _start_tasks(workspace, state, stack, say)
    _wait_until_useful(state, stack, say)
    state |= {"fingerprint": fingerprint}
    _keep(workspace, state)
    return stack


def _start_emulator(workspace: Workspace, say: Callable[[str], None]) -> dict[str, Any]:
    adopted = emulator.adopted_endpoint()
    if adopted is not None:
        if not emulator.is_healthy(adopted):
            raise emulator.EmulatorFailed(f"CARILLON_ADOPT is set, and nothing answers at {adopted}")
        say(f"using the server at {adopted}, as asked")
        return {"endpoint": adopted}
    port = emulator.free_port()
    if port != emulator.USUAL_PORT:
        say(f"port {emulator.USUAL_PORT} is in use, so another is taken")
    process = emulator.launch(workspace, port)
    state: dict[str, Any] = {"endpoint": emulator.endpoint_of(port), "emulator": process.written()}
    _keep(workspace, state)
    emulator.wait_until_ready(process, workspace, port)
    say(f"the emulator answers on {state['endpoint']}")
    return state


def _start_tasks(workspace: Workspace, state: dict[str, Any], stack: Stack, say: Callable[[str], None]) -> None:
    _keep(workspace, state)
    supervisor = processes.start(
        "supervisor",
        [sys.executable, "-P", "-m", "localstack.supervisor", str(workspace.folder)],
        environ=scrubbed(os.environ, endpoint=stack.endpoint),
        folder=workspace.folder,
        log=workspace.log("supervisor"),
    )
    state |= {"supervisor": supervisor.written()}
    _keep(workspace, state)
    for service, desired in _desired(state).items():
        stack.wait_for_tasks(service, desired)
    say("tasks: " + ", ".join(sorted(stack.tasks())))


def _wait_until_useful(state: Mapping[str, Any], stack: Stack, say: Callable[[str], None]) -> None:
    """The API and the fleet of Carillon; an app without them has nothing to wait for."""
    fleet = stack.outputs.get("FleetTable")
    if fleet is None:
        return
    tasks = stack.tasks()
    wait_for_api(stack.api_url + "/v1/health")
    say("the API answers")
    try:
        wait_for_fleet(stack.endpoint, fleet, nodes=_desired(state)["scheduler"], tasks=tasks)
    except NotReady as failure:
        logs = stack.workspace.folder / "logs"
        ends = [f"{name}.log ends with:\n{stack.workspace.tail(name)}" for name in sorted(tasks)]
        raise StackFailed("\n".join([f"{failure}; the logs are in {logs}", *ends])) from failure
    say("the nodes own every shard")


def _desired(state: Mapping[str, Any]) -> dict[str, int]:
    """How many tasks each service wants."""
    ecs, services = endpoints.ecs(state["endpoint"]), state["services"]
    described = ecs.describe_services(cluster=state["cluster"], services=list(services.values()))["services"]
    counts = {service["serviceName"]: service["desiredCount"] for service in described}
    return {name: counts[deployed] for name, deployed in services.items()}


def _keep(workspace: Workspace, state: dict[str, Any]) -> None:
    write_json(workspace.state, state)
    # It holds a key.
    workspace.state.chmod(0o600)


def _stack(workspace: Workspace, state: Mapping[str, Any]) -> Stack:
    return Stack(workspace, state["endpoint"], state["outputs"], state["key"])


def _is_up(state: Mapping[str, Any]) -> bool:
    if "fingerprint" not in state or not Running.read(state["supervisor"]).is_alive():
        return False
    if "emulator" in state and not Running.read(state["emulator"]).is_alive():
        return False
    return emulator.is_healthy(state["endpoint"])


def _fingerprint(app: Path) -> str:
    seen = hashlib.sha256((ROOT / "uv.lock").read_bytes())
    folders = [ROOT / name for name in SOURCES] + [app]
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if not NOT_SOURCES.intersection(path.parts):
            seen.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()
