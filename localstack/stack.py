"""The whole system on this machine: `up` brings it up, `down` leaves nothing running, `borrowed` does both for a while.

Started, it is: one emulator with the CDK app deployed into it, and one supervisor that runs the ECS tasks. What runs
is written down before it is waited for, so whatever ends this process, the next `up` or `down` finds it.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from localstack import emulator, processes
from localstack.certificate import certificate_in, trusting
from localstack.processes import Running
from localstack.running import Stack, StackFailed
from localstack.start import USUAL, Variant, bring_up, fingerprint_of, keep, renew
from localstack.toolchain.paths import INFRA
from localstack.workspace import Workspace, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

__all__ = ["Stack", "StackFailed", "Variant", "borrowed", "clear", "down", "up"]

# Longer than any task may take to end: the supervisor waits for all of them.
SUPERVISOR_GRACE_SECONDS = 45.0
# Then the other command has hung, or somebody debugs it.
USE_SECONDS = 600.0


def up(
    workspace: Workspace | None = None,
    *,
    app: Path = INFRA,
    say: Callable[[str], None] = print,
    settings: Mapping[str, Any] | None = None,
    enforces_roles: bool = False,
) -> Stack:
    """The local stack of this checkout, to stay up: the one that runs, with what has changed deployed into it, or a new
    one. Without `settings` the one that runs keeps its own.

    Raises:
        StackFailed, NotReady, EmulatorFailed, DeployFailed, SettingsDiffer: it did not come up, and nothing is left of
            a new one.
        UnsafeTarget: it would not have been this machine's emulator.
    """
    workspace = workspace or Workspace()
    with ExitStack() as meanwhile:
        if enforces_roles:
            meanwhile.enter_context(trusting(certificate_in(workspace.subfolder("."))))
        meanwhile.enter_context(workspace.locked())
        chosen = read_json(workspace.state).get("settings", {}) if settings is None else settings
        stack = _up(workspace, app, say, Variant(chosen, enforces_roles))
        keep(workspace, {**read_json(workspace.state), "stays": True})
        return stack


def down(workspace: Workspace | None = None, *, say: Callable[[str], None] = print) -> None:
    """Stops whatever runs of the local stack, also what a killed one left behind, and whoever may be using it."""
    workspace = workspace or Workspace()
    with workspace.locked():
        clear(workspace, say=say)


@contextmanager
def borrowed(
    workspace: Workspace | None = None,
    *,
    app: Path = INFRA,
    say: Callable[[str], None] = print,
    variant: Variant = USUAL,
) -> Iterator[Stack]:
    """A stack for the time of a demo or a test. Who leaves last stops it, unless `up` said that it stays.

    One that enforces roles speaks TLS, and this process trusts its certificate meanwhile.

    Raises:
        What `up` raises.
    """
    workspace = workspace or Workspace()
    with ExitStack() as meanwhile:
        if variant.enforces_roles:
            meanwhile.enter_context(trusting(certificate_in(workspace.subfolder("."))))
        with workspace.locked():
            stack = _up(workspace, app, say, variant)
            use = workspace.use()
        try:
            yield stack
        finally:
            use.close()
            with workspace.locked():
                if not read_json(workspace.state).get("stays") and not workspace.is_used():
                    clear(workspace, say=say)


def clear(workspace: Workspace, *, say: Callable[[str], None]) -> None:
    """Ends what the state names, tasks first, and forgets it. The logs stay."""
    state = read_json(workspace.state)
    # A deploy outlives the `up` that was killed, and would go on with the next emulator.
    steps = [Running.read(step) for step in read_json(workspace.steps).get("steps", [])]
    processes.stop(steps, grace_seconds=processes.FINISH_GRACE_SECONDS)
    _stop_tasks(workspace, state)
    server = [Running.read(state["emulator"])] if "emulator" in state else []
    processes.stop(server, grace_seconds=emulator.GRACE_SECONDS)
    for path in (workspace.state, workspace.tasks, workspace.route, workspace.steps, workspace.outputs):
        path.unlink(missing_ok=True)
    if state:
        say("the local stack is down")


def _stop_tasks(workspace: Workspace, state: Mapping[str, Any]) -> None:
    supervisor = [Running.read(state["supervisor"])] if "supervisor" in state else []
    processes.stop(supervisor, grace_seconds=SUPERVISOR_GRACE_SECONDS)
    # Only a killed supervisor leaves tasks.
    orphans = [Running.read(task) for task in read_json(workspace.tasks).get("tasks", [])]
    processes.stop([task for task in orphans if task.is_alive()], grace_seconds=SUPERVISOR_GRACE_SECONDS)


def _up(workspace: Workspace, app: Path, say: Callable[[str], None], variant: Variant = USUAL) -> Stack:
    state = read_json(workspace.state)
    fingerprint = fingerprint_of(app, variant)
    if _is_up(state) and state["fingerprint"] == fingerprint:
        say("the local stack is up already")
        return Stack.read(workspace, state)
    if workspace.is_used():
        say("the local stack is in use by another command, of other sources; waiting for it to end")
        processes.wait_until(lambda: not workspace.is_used(), timeout_seconds=USE_SECONDS, pause_seconds=1.0)
    if _is_up(state) and can_be_renewed(state, variant):
        # What fails here leaves the stack that runs as it is, for the next `up`.
        stop_tasks = partial(_stop_tasks, workspace, state)
        return renew(
            workspace, dict(state), say, app=app, fingerprint=fingerprint, variant=variant, stop_tasks=stop_tasks
        )
    clear(workspace, say=say)
    try:
        return bring_up(workspace, app, fingerprint, say, variant)
    except BaseException:
        clear(workspace, say=say)
        raise


def can_be_renewed(state: Mapping[str, Any], variant: Variant) -> bool:
    """An emulator enforces roles or does not, from its start to its end."""
    return bool(state.get("enforces_roles")) == variant.enforces_roles


def _is_up(state: Mapping[str, Any]) -> bool:
    if "fingerprint" not in state or not Running.read(state["supervisor"]).is_alive():
        return False
    if "emulator" in state and not Running.read(state["emulator"]).is_alive():
        return False
    return emulator.is_healthy(state["endpoint"])
