"""The kit that proves a deployment, run as an operator runs it, against the local stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carillon.client import Client
from localstack import endpoints
from localstack.environment import HARMLESS
from localstack.receiver import Receiver
from localstack.stack import Stack

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]


def prove(stack: Stack, out: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """The process, and the findings of its report."""
    environment = {**os.environ, **HARMLESS, "AWS_ENDPOINT_URL": stack.endpoint, "CARILLON_KEY": stack.key}
    where = ("--url", stack.api_url, "--out", str(out))
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "infra.prove", "--environment", "local", *where, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    reports = sorted(out.glob("*.json"))
    return ended, json.loads(reports[-1].read_text())["findings"] if reports else []


def test_the_local_stack_is_proven_as_far_as_an_emulator_can(
    stack: Stack, client: Client, webhook: Receiver, tmp_path: Path
) -> None:
    ended, findings = prove(stack, tmp_path, "--yes", "--minutes", "0.1", "--webhook", f"{webhook.url}/proof")
    assert [each for each in findings if each["verdict"] == "failed"] == [], ended.stdout + ended.stderr
    assert ended.returncode == 0
    shown = {(each["part"], each["what"]): each["verdict"] for each in findings}
    assert shown["smoke", "a job fires, and its run succeeds"] == "passed"
    assert shown["smoke", "a webhook to a public address"] == "passed"
    assert shown["drift", "lane default, one run a second for 6 s"] == "not shown here"
    assert shown["roles", "what each role must not do is denied"] == "not shown here"
    assert "the emulator at" in next(tmp_path.glob("*.md")).read_text()
    jobs = [job for job in client.list_jobs(last_runs=5) if job["job_id"].startswith("carillon-proof")]
    assert {job["state"] for job in jobs} <= {"completed", "cancelled"}
    assert not [run for job in jobs for run in job["last_runs"]]
    tables = endpoints.dynamodb(stack.endpoint).list_tables()["TableNames"]
    assert not [name for name in tables if name.startswith("carillon-proof")]


def test_the_smoke_test_needs_the_api_alone(stack: Stack, tmp_path: Path) -> None:
    ended, findings = prove(stack, tmp_path, "--yes", "--smoke")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert {each["part"] for each in findings} == {"smoke"}


def test_it_says_the_price_and_makes_nothing_before_somebody_agrees(stack: Stack, tmp_path: Path) -> None:
    ended, findings = prove(stack, tmp_path)
    assert ended.returncode == 2
    assert "It costs at most $" in ended.stdout
    assert "--yes" in ended.stderr
    assert findings == []
