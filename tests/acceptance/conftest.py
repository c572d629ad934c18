"""One local stack for all acceptance tests: the CDK app in the emulator, real processes, real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from carillon.client import Client
from localstack.client import client_of
from localstack.receiver import Receiver, receiver
from localstack.stack import Stack, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from tests.acceptance.raw import RawClient


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """A stack of the tests' own, beside the one that `make up` may have started."""
    with borrowed(Workspace(Path(__file__).parents[2] / ".local" / "acceptance"), say=say) as running:
        yield running


@pytest.fixture
def client(stack: Stack) -> Iterator[Client]:
    with client_of(stack) as client:
        yield client


@pytest.fixture
def raw(stack: Stack) -> RawClient:
    return RawClient(stack.api_url, stack.key)


@pytest.fixture
def webhook() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept
