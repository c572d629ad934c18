"""The README's examples for a shell and for Python, executed as they stand against the running system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from localstack.keys import issue_key
from localstack.receiver import Receiver
from localstack.stack import Stack
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import RUN, wait_for
from tests.readme import examples

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

OWNER = f"readme-{RUN}"


@pytest.fixture(scope="module")
def key(stack: Stack) -> str:
    return issue_key(stack.endpoint, stack.outputs["AccessTable"], owner_id=OWNER)


@pytest.fixture
def owner(stack: Stack, key: str) -> RawClient:
    return RawClient(stack.api_url, key)


def shell(script: str, stack: Stack, key: str) -> str:
    """What the lines print. One that fails ends the script; those that set address and key are left out."""
    lines = "\n".join(line for line in script.splitlines() if not line.startswith("export CARILLON_"))
    folder = Path(sys.executable).parent
    environment = {
        **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
        "CARILLON_URL": stack.api_url,
        "CARILLON_KEY": key,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", lines], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(which("curl") is None, reason="the examples are for curl")
def test_the_lines_to_paste_create_a_job_and_show_its_run(stack: Stack, owner: RawClient, key: str) -> None:
    [script] = examples("Try it")
    # Each answer of curl on a line of its own.
    printed = shell(script.replace("curl -sS ", "curl -sS -w '\\n' "), stack, key)
    health, created, runs = map(json.loads, printed.splitlines())
    assert (health["status"], created["job_id"], runs["items"]) == ("ok", "hello", [])
    shown: Any = wait_for(
        lambda: [run for run in owner.get("/v1/jobs/hello/runs").body["items"] if run["ended_at"]],
        seconds=30,
        what="the job of the README runs",
    )
    assert [run["status"] for run in shown] == ["succeeded"]


def test_the_lines_for_a_terminal_work(stack: Stack, owner: RawClient, key: str) -> None:
    [script] = examples("From a terminal")
    printed = shell(script, stack, key)
    assert "succeeded" in printed
    assert owner.get("/v1/jobs/nightly").body["schedule"]["timezone"] == "Europe/Berlin"
    assert len(owner.get("/v1/keys").body["items"]) == 2


def test_the_python_makes_a_job_and_waits_for_its_run(
    stack: Stack, key: str, webhook: Receiver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    [example] = examples("From Python", "python")
    text = example.replace("https://example.com/hook", f"{webhook.url}/hook")
    exec(text, {"url": stack.api_url, "key": key})  # noqa: S102 - the README's
    assert capsys.readouterr().out == "succeeded\n"
    assert [request.path for request in webhook.requests] == ["/hook"]
