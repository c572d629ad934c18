"""An audit is clean only of what was looked up."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from infra import audit
from infra.audit import Findings, exit_status, findings_of, told

SOUND = {"name": "boto3", "version": "1.43.0", "vulns": []}
WEAK = {"name": "urllib3", "version": "2.0.0", "vulns": [{"id": "CVE-2026-1", "fix_versions": ["2.0.1"]}]}
UNKNOWN = {"name": "tzdata", "skip_reason": "Dependency not found on PyPI and could not be audited: tzdata (2026.3)"}


def findings(*packages: dict[str, Any]) -> Findings:
    return findings_of({"dependencies": list(packages)})


def test_a_known_weakness_fails_and_says_what_mends_it() -> None:
    found = findings(SOUND, WEAK)

    assert told(found) == ["known weakness: urllib3 2.0.0: CVE-2026-1, mended in: 2.0.1"]
    assert exit_status(found, is_required=False) == 1


def test_what_was_looked_up_and_is_sound_passes() -> None:
    assert told(findings(SOUND)) == ["audited: 1 packages, of which no weakness is known"]
    assert exit_status(findings(SOUND), is_required=True) == 0


def test_what_was_not_looked_up_is_never_called_clean() -> None:
    lines = told(findings(UNKNOWN))

    assert len(lines) == 1
    assert lines[0].startswith("not audited: 1 of 1 packages, such as tzdata: Dependency not found")


@pytest.mark.parametrize(("is_required", "status"), [(False, 0), (True, 1)])
def test_whether_that_fails_is_for_those_to_say_who_ask(is_required: bool, status: int) -> None:
    assert exit_status(findings(SOUND, UNKNOWN), is_required=is_required) == status


def test_a_service_that_is_not_reached_leaves_everything_unaudited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def unreachable(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "Traceback\nConnectionError: no route to host")

    monkeypatch.setattr(audit, "run_uv", lambda *_: "boto3==1.43.0 \\\n    --hash=sha256:00\ntzdata==2026.3\n")
    monkeypatch.setattr(subprocess, "run", unreachable)

    found = audit.audit(tmp_path)

    assert found.unaudited == dict.fromkeys(["boto3", "tzdata"], "ConnectionError: no route to host")
    assert exit_status(found, is_required=False) == 0
