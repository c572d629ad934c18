"""What the commands of the local stack see of their caller's environment."""

from __future__ import annotations

import os
from typing import Any

import pytest

from localstack import __main__ as entry
from localstack import commands


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    """The environment of each command that was run; the caller's own comes back afterwards."""
    found: dict[str, dict[str, str]] = {}
    monkeypatch.setattr(os, "environ", dict(os.environ))

    def command(name: str) -> Any:
        def run(_arguments: list[str]) -> int:
            found[name] = dict(os.environ)
            return 0

        return run

    for name in ("soak", "acceptance"):
        monkeypatch.setattr(commands, name, command(name))
    return found


def test_only_a_command_that_works_with_a_deployment_sees_the_callers_key(
    seen: dict[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("soak", "acceptance"):
        monkeypatch.setitem(os.environ, "CARILLON_KEY", "crl_secret")
        monkeypatch.setitem(os.environ, "AWS_PROFILE", "production")
        assert entry.main([name]) == 0

    assert seen["soak"]["CARILLON_KEY"] == "crl_secret"
    assert "CARILLON_KEY" not in seen["acceptance"]
    assert not any("AWS_PROFILE" in environ for environ in seen.values())
