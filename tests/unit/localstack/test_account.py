"""`make doctor` looks at an account where credentials were chosen, and at none otherwise."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from localstack.toolchain import account


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    made: list[list[str]] = []

    def call(command: list[str], **_: Any) -> int:
        made.append(command)
        return 1

    monkeypatch.setattr(subprocess, "call", call)
    return made


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"])
def test_chosen_credentials_are_asked(name: str, calls: list[list[str]]) -> None:
    assert account.problems_of_account({name: "mine"}, "prod")
    [command] = calls
    assert command[1:] == ["-P", "-m", "infra.preflight", "--environment", "prod"]


@pytest.mark.parametrize("environ", [{}, {"AWS_PROFILE": ""}, {"AWS_PROFILE": "x", "AWS_ENDPOINT_URL": "http://here"}])
def test_without_an_account_nothing_is_asked(environ: dict[str, str], calls: list[list[str]]) -> None:
    assert not account.problems_of_account(environ, "dev")
    assert calls == []


def test_a_checkout_that_is_not_installed_is_no_problem_of_the_account(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(account, "VENV_PYTHON", tmp_path / "python")
    assert not account.problems_of_account({"AWS_PROFILE": "mine"}, "dev")
    assert calls == []
