"""The stacks, synthesised once per session and environment, without bundling."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import pytest

from localstack.toolchain.node import find_node

# Read when aws_cdk is imported: the Node of PATH may be older than jsii takes.
os.environ.setdefault("JSII_NODE", str(find_node(os.environ) or "node"))

from tests.infra.synthesis import EVERY_SETTING, Synthesis, synthesise


@pytest.fixture(scope="session")
def synthesised() -> Callable[[str], Synthesis]:
    """The templates of an environment."""
    return cache(synthesise)


@pytest.fixture(scope="session")
def dev(synthesised: Callable[[str], Synthesis]) -> Synthesis:
    return synthesised("dev")


@pytest.fixture(scope="session")
def prod(synthesised: Callable[[str], Synthesis]) -> Synthesis:
    return synthesised("prod")


@pytest.fixture(scope="session")
def chosen() -> Synthesis:
    """Prod with every setting chosen otherwise."""
    return synthesise("prod", **EVERY_SETTING)


@pytest.fixture(scope="session")
def local(synthesised: Callable[[str], Synthesis]) -> Synthesis:
    return synthesised("local")
