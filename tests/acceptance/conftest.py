"""One local stack for all acceptance tests: the CDK app in the emulator, real processes, real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localstack.client import Client
from localstack.receiver import Receiver, receiver
from localstack.stack import Stack, down, up
from localstack.terminal import say
from localstack.workspace import Workspace


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """A stack of the tests' own, beside the one that `make up` may have started."""
    workspace = Workspace(Path(__file__).parents[2] / ".local" / "acceptance")
    down(workspace, say=say)
    try:
        yield up(workspace, say=say)
    finally:
        down(workspace, say=say)


@pytest.fixture
def client(stack: Stack) -> Client:
    return Client(stack.api_url, stack.key)


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept
