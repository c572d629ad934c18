"""`make up` and `make down`, as a person sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from localstack import emulator
from localstack.deploy import DeployFailed
from localstack.environment import UnsafeTarget
from localstack.readiness import NotReady
from localstack.stack import Stack, StackFailed, down, up
from localstack.toolchain.paths import LOCAL
from localstack.verify import SettingsDiffer
from localstack.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPECTED = (StackFailed, NotReady, emulator.EmulatorFailed, DeployFailed, SettingsDiffer, UnsafeTarget)


def up_command(_arguments: Sequence[str]) -> int:
    try:
        stack = up(say=say)
    except EXPECTED as failure:
        say(f"problem: {failure}")
        return 1
    say(introduction(stack))
    return 0


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
    job = '{"job_id": "hello", "schedule": {"in": "PT5S"}, "target": {"type": "handler", "name": "echo"}}'
    return f"""
API      {stack.api_url}
key      {stack.key}
logs     {stack.workspace.folder}/logs
stop     make down

export CARILLON_URL={stack.api_url}
export CARILLON_KEY={stack.key}
curl -sS $CARILLON_URL/v1/health
curl -sS -X POST $CARILLON_URL/v1/jobs -H "Authorization: Bearer $CARILLON_KEY" -H 'Content-Type: application/json' \\
  -d '{job}'
curl -sS $CARILLON_URL/v1/jobs/hello/runs -H "Authorization: Bearer $CARILLON_KEY"
"""
