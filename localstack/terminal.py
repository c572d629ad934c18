"""`make up` and `make down`, as a person sees them."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import TYPE_CHECKING, Any

from localstack import emulator
from localstack.certificate import certificate_in
from localstack.deploy import DeployFailed
from localstack.environment import UnsafeTarget
from localstack.readiness import NotReady
from localstack.stack import Stack, StackFailed, down, up
from localstack.toolchain.paths import LOCAL
from localstack.verify import SettingsDiffer
from localstack.workspace import Workspace

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

EXPECTED = (StackFailed, NotReady, emulator.EmulatorFailed, DeployFailed, SettingsDiffer, UnsafeTarget)


def up_command(arguments: Sequence[str]) -> int:
    chosen = _read(arguments)
    try:
        stack = up(say=say, settings=chosen.settings, enforces_roles=chosen.roles)
    except EXPECTED as failure:
        say(f"problem: {failure}")
        return 1
    say(introduction(stack))
    return 0


def _read(arguments: Sequence[str]) -> Namespace:
    """Ends the process, with what was wrong, where they mean nothing."""
    parser = ArgumentParser(prog="make up")
    parser.add_argument(
        "--settings", type=settings_in, help="SETTINGS='{...}': of the deployment, as in infra/cdk.json"
    )
    parser.add_argument("--roles", action="store_true", help="ROLES=1: lets nobody do what its role does not allow")
    return parser.parse_args(arguments)


def settings_in(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ArgumentTypeError(f"SETTINGS is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ArgumentTypeError("SETTINGS is a JSON object, such as '{\"handlers\": {...}}'")
    return value


def down_command(_arguments: Sequence[str]) -> int:
    """Also the stacks of tests that were killed: each has a folder of its own in `.local`."""
    down(say=say)
    for state in LOCAL.glob("*/state.json"):
        workspace = Workspace(state.parent)
        if not workspace.is_used():
            down(workspace, say=say)
    return 0


def say(line: str) -> None:
    """At once, also into a pipe: whoever waits wants to see for what."""
    print(line, flush=True)


def introduction(stack: Stack) -> str:
    """How to talk to the stack: what `make up` says at its end."""
    trusted = ""
    if stack.endpoint.startswith("https"):
        path = certificate_in(stack.workspace.folder).trusted
        trusted = f"\nexport CURL_CA_BUNDLE={path} SSL_CERT_FILE={path}"
    job = '{"job_id": "hello", "schedule": {"in": "PT5S"}, "target": {"type": "handler", "name": "echo"}}'
    return f"""
API      {stack.api_url}
key      {stack.key}
logs     {stack.workspace.folder}/logs
stop     make down

export CARILLON_URL={stack.api_url}
export CARILLON_KEY={stack.key}{trusted}
curl -sS $CARILLON_URL/v1/health
curl -sS -X POST $CARILLON_URL/v1/jobs -H "Authorization: Bearer $CARILLON_KEY" -H 'Content-Type: application/json' \\
  -d '{job}'
curl -sS $CARILLON_URL/v1/jobs/hello/runs -H "Authorization: Bearer $CARILLON_KEY"
"""
