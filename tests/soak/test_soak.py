"""Two minutes of the soak. A stack of its own: the chaos would be everybody's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localstack.stack import Stack, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from tests.soak.soak import soak_stack, told

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with borrowed(Workspace(Path(__file__).parents[2] / ".local" / "soak"), say=say) as running:
        yield running


def test_two_minutes_of_everything_at_once_break_no_rule(stack: Stack) -> None:
    verdict = soak_stack(stack, seconds=120, seed=1, say=say)
    assert verdict.problems == {}, "\n".join(told(verdict))
