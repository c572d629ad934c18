"""The parts of a local stack, started one after the other: emulator, deployment, tasks. Then all are waited for."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from localstack import emulator, endpoints, processes, roles
from localstack.certificate import certificate_in
from localstack.deploy import deploy
from localstack.environment import scrubbed
from localstack.keys import issue_demo_key
from localstack.readiness import NotReady, wait_for_api, wait_for_fleet
from localstack.running import Stack, StackFailed, services_of
from localstack.toolchain.paths import LOCAL, ROOT
from localstack.verify import complete
from localstack.workspace import Workspace, write_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

# What the stack is made of: while none of it changes, a running stack is the right one.
SOURCES = ("shared", "functions", "carillon", "infra", "localstack")
PORT_TRIES = 3
NOT_SOURCES = frozenset(("node_modules", "cdk.out", "__pycache__"))


@dataclass(frozen=True)
class Variant:
    """How a stack differs from the usual one: by settings of its environment, and by an emulator that lets nobody do
    what its role does not allow, where each process has the role it was deployed with.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    enforces_roles: bool = False

    @property
    def folders(self) -> list[Path]:
        """What the stack is made of besides the checkout: handlers of somebody's own."""
        folder = (self.settings.get("handlers") or {}).get("folder")
        return [] if folder is None else [(ROOT / str(folder)).resolve()]


USUAL = Variant()


def bring_up(
    workspace: Workspace, app: Path, fingerprint: str, say: Callable[[str], None], variant: Variant = USUAL
) -> Stack:
    """A new one, with a new key at a new address."""
    state = _start_emulator(workspace, say, enforces_roles=variant.enforces_roles)
    say("deploying the CDK app into it (half a minute or so)")
    return _fill(workspace, state, say, app=app, fingerprint=fingerprint, variant=variant)


def renew(
    workspace: Workspace,
    state: dict[str, Any],
    say: Callable[[str], None],
    *,
    app: Path,
    fingerprint: str,
    variant: Variant,
    stop_tasks: Callable[[], None],
) -> Stack:
    """The same emulator, with what has changed deployed into it: address, key, jobs and runs stay. Tasks go on until
    the deploy has succeeded, and start again then: with code of theirs that may have changed.
    """
    say("deploying what has changed into the stack that runs")
    return _fill(workspace, state, say, app=app, fingerprint=fingerprint, variant=variant, stop_tasks=stop_tasks)


def _fill(
    workspace: Workspace,
    state: dict[str, Any],
    say: Callable[[str], None],
    *,
    app: Path,
    fingerprint: str,
    variant: Variant,
    stop_tasks: Callable[[], None] = lambda: None,
) -> Stack:
    endpoint = state["endpoint"]
    outputs = deploy(workspace, endpoint, app=app, settings=variant.settings)
    changed = complete(workspace.assembly, endpoint)
    if variant.enforces_roles:
        roles.allow_batches(workspace.assembly, endpoint)
    workspace.log("verify").write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")
    say(f"deployed; what the emulator had dropped of {len(changed)} resources was set by API (logs/verify.log)")
    state |= {"outputs": outputs, "cluster": outputs["ClusterName"], "services": services_of(outputs)}
    if not state.get("key"):
        state |= {"key": issue_demo_key(endpoint, outputs)}
    stack = Stack.read(workspace, state)
    stop_tasks()
    _start_tasks(workspace, state, stack, say)
    _wait_until_useful(state, stack, say)
    state |= {"fingerprint": fingerprint, "settings": dict(variant.settings)}
    keep(workspace, state)
    return stack


def _start_emulator(workspace: Workspace, say: Callable[[str], None], *, enforces_roles: bool) -> dict[str, Any]:
    # One that enforces roles cannot be somebody's whose certificate is not ours.
    adopted = None if enforces_roles else emulator.adopted_endpoint()
    if adopted is not None:
        if not emulator.is_healthy(adopted):
            raise emulator.EmulatorFailed(f"CARILLON_ADOPT is set, and nothing answers at {adopted}")
        say(f"using the server at {adopted}, as asked")
        return {"endpoint": adopted}
    own = certificate_in(workspace.folder) if enforces_roles else None
    # The usual port is for the stack that people use; the others of a machine leave it alone.
    port = emulator.free_port(emulator.USUAL_PORT if workspace.folder == LOCAL else emulator.ANY_PORT)
    for tries_left in reversed(range(PORT_TRIES)):
        process = emulator.launch(workspace, port, certificate=own)
        endpoint = emulator.endpoint_of(port, has_tls=enforces_roles)
        state: dict[str, Any] = {"endpoint": endpoint, "emulator": process.written(), "enforces_roles": enforces_roles}
        keep(workspace, state)
        try:
            emulator.wait_until_ready(process, workspace, port, has_tls=enforces_roles)
            break
        except emulator.EmulatorFailed:
            # Two that start at once find the same port free, and one of them gets it.
            if process.is_alive() or not tries_left or emulator.free_port(port) == port:
                raise
            port = emulator.free_port(emulator.ANY_PORT)
    if workspace.folder == LOCAL and port != emulator.USUAL_PORT:
        say(f"port {emulator.USUAL_PORT} is in use, so another is taken")
    say(f"the emulator answers on {state['endpoint']}")
    return state


def _start_tasks(workspace: Workspace, state: dict[str, Any], stack: Stack, say: Callable[[str], None]) -> None:
    keep(workspace, state)
    supervisor = processes.start(
        "supervisor",
        [sys.executable, "-P", "-m", "localstack.supervisor", str(workspace.folder)],
        environ=scrubbed(os.environ, endpoint=stack.endpoint),
        folder=workspace.folder,
        log=workspace.log("supervisor"),
    )
    state |= {"supervisor": supervisor.written()}
    keep(workspace, state)
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


def keep(workspace: Workspace, state: dict[str, Any]) -> None:
    write_json(workspace.state, state)
    # It holds a key.
    workspace.state.chmod(0o600)


def fingerprint_of(app: Path, variant: Variant = USUAL) -> str:
    seen = hashlib.sha256((ROOT / "uv.lock").read_bytes() + repr(variant).encode())
    folders = [ROOT / name for name in SOURCES] + [app, *variant.folders]
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if not NOT_SOURCES.intersection(path.parts):
            seen.update(str(path).encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()
