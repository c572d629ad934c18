"""Deploys the CDK app, environment `local`, into the emulator: never anywhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from localstack import cdk, endpoints, processes
from localstack.environment import ACCOUNT, REGION, require_local_account, require_loopback
from localstack.toolchain.paths import INFRA
from localstack.workspace import read_json, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from localstack.processes import Running
    from localstack.workspace import Workspace

TOOLKIT_STACK = "CDKToolkit"
CONTEXT = ("--context", "environment=local")
TIMEOUT_SECONDS = 300.0
LOG_LINES = 40


class DeployFailed(Exception):
    """The CDK command line did not do its work; the end of its log is in the text."""


def deploy(
    workspace: Workspace, endpoint: str, *, app: Path = INFRA, settings: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """Deploys every stack of the app whose cdk.json is in that folder; the outputs of all stacks by their keys.

    `settings` are those of the environment that are to be others than usual.

    Raises:
        UnsafeTarget: the endpoint is not the emulator of this machine. Nothing was deployed.
        DeployFailed: synth, bootstrap or deploy failed.
    """
    require_local_emulator(endpoint)
    # Side by side: each keeps one core busy for some seconds, and neither needs the other.
    chosen = ("--context", f"settings={json.dumps(settings)}") if settings else ()
    steps = [_start(workspace, endpoint, "cdk-synth", *_synth(workspace), *chosen, folder=app)]
    try:
        if not _is_bootstrapped(endpoint):
            arguments = ("bootstrap", f"aws://{ACCOUNT}/{REGION}")
            # In a folder without an app: it would be synthesised once more, for nothing.
            folder = workspace.subfolder("cdk")
            steps.append(_start(workspace, endpoint, "cdk-bootstrap", *arguments, folder=folder))
        for step in steps:
            _finish(workspace, step)
    finally:
        processes.stop(steps, grace_seconds=processes.FINISH_GRACE_SECONDS)
    _finish(workspace, _start(workspace, endpoint, "cdk-deploy", *_deploy(workspace), folder=app))
    return read_outputs(workspace)


def destroy(workspace: Workspace, endpoint: str, *, app: Path = INFRA) -> None:
    """Removes every stack that was deployed last. Raises UnsafeTarget, DeployFailed."""
    require_local_emulator(endpoint)
    arguments = ("destroy", "--all", "--force", "--app", str(workspace.assembly), *CONTEXT)
    _finish(workspace, _start(workspace, endpoint, "cdk-destroy", *arguments, folder=app))


def require_local_emulator(endpoint: str) -> None:
    """Asks the endpoint itself who it is, after its address has been looked at.

    Raises:
        UnsafeTarget: it is not on this machine, or speaks for an account that is not the emulator's.
    """
    require_loopback(endpoint)
    require_local_account(endpoints.client("sts", endpoint=endpoint).get_caller_identity()["Account"])


def read_outputs(workspace: Workspace) -> dict[str, str]:
    """The outputs of all stacks together: no two stacks have one of the same key."""
    stacks = read_json(workspace.outputs)
    return {key: value for outputs in stacks.values() for key, value in outputs.items()}


def _synth(workspace: Workspace) -> list[str]:
    return ["synth", "--quiet", "--output", str(workspace.assembly), *CONTEXT]


def _deploy(workspace: Workspace) -> list[str]:
    made = ["--app", str(workspace.assembly), "--outputs-file", str(workspace.outputs)]
    return ["deploy", "--all", "--require-approval", "never", "--progress", "events", *made, *CONTEXT]


def _is_bootstrapped(endpoint: str) -> bool:
    try:
        endpoints.cloudformation(endpoint).describe_stacks(StackName=TOOLKIT_STACK)
    except ClientError:
        return False
    return True


def _start(workspace: Workspace, endpoint: str, name: str, *arguments: str, folder: Path) -> Running:
    step = processes.start(
        name,
        cdk.command(*arguments),
        environ=cdk.environ(home=workspace.subfolder("cdk"), endpoint=endpoint),
        folder=folder,
        log=workspace.log(name),
    )
    begun = read_json(workspace.steps).get("steps", [])
    write_json(workspace.steps, {"steps": [*begun, step.written()]})
    return step


def _finish(workspace: Workspace, step: Running) -> None:
    code = processes.finish(step, timeout_seconds=TIMEOUT_SECONDS)
    if code == 0:
        return
    ending = f"did not end within {TIMEOUT_SECONDS:.0f} s" if code is None else f"ended with {code}"
    raise DeployFailed(f"{step.name} {ending}:\n{workspace.tail(step.name, LOG_LINES)}")
