"""Runs the CDK command line of `infra/node_modules` and, below it, the CDK app under this Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from localstack.environment import for_tools
from localstack.toolchain.node import ensure_node
from localstack.toolchain.paths import CDK

QUIET = ("--no-notices", "--no-version-reporting", "--no-color")


def command(*arguments: str) -> list[str]:
    return [str(ensure_node(os.environ)), str(CDK), *arguments, *QUIET]


def environ(*, home: Path, endpoint: str | None = None) -> dict[str, str]:
    """`home` keeps what the command line remembers of accounts, so that it remembers no other emulator's."""
    return {**for_tools(os.environ, endpoint=endpoint), "PATH": path(), "CDK_HOME": str(home)}


def path() -> str:
    """PATH on which an app finds this Python as `python`, and the library below it a recent `node`."""
    directories = [Path(sys.executable).parent, ensure_node(os.environ).parent]
    return os.pathsep.join([*map(str, directories), os.environ.get("PATH", os.defpath)])
