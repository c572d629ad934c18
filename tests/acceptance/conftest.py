"""One local stack for all acceptance tests: the CDK app in the emulator, real processes, real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localstack.client import Client
from localstack.receiver import Receiver, receiver
from localstack.stack import Stack, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """A stack of the tests' own, beside the one that `make up` may have started."""
    with borrowed(Workspace(Path(__file__).parents[2] / ".local" / "acceptance"), say=say) as running:
        yield running


@pytest.fixture
def client(stack: Stack) -> Client:
    return Client(stack.api_url, stack.key)


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept
