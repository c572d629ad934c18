"""`python -P -m infra.audit`: known weaknesses of what deployables are made of, by uv.lock, as pip-audit finds them.

pip-audit calls an audit clean of which its service knew no package at all, as behind a mirror of the index. Here what
was not looked up is said, and `--required` makes a failure of it; without, only a weakness that is known fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.bundle import TRACING_GROUP, BundlingFailed, run_uv
from infra.sbom import deployables

REQUIRED = "--required"
_TIMEOUT_SECONDS = "10"
#: By its hashes each package is known already, so nothing is resolved or downloaded.
_PIP_AUDIT = ("pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--format", "json")


@dataclass(frozen=True, slots=True)
class Findings:
    audited: int = 0
    #: A line each: the package, its weakness, and what mends it.
    weaknesses: list[str] = field(default_factory=list)
    #: Packages that nothing is known of, and why.
    unaudited: Mapping[str, str] = field(default_factory=dict)


def findings_of(document: Mapping[str, Any]) -> Findings:
    """What pip-audit reports in JSON."""
    packages = document["dependencies"]
    return Findings(
        audited=sum("skip_reason" not in each for each in packages),
        weaknesses=[_line(each, found) for each in packages for found in each.get("vulns", [])],
        unaudited={each["name"]: each["skip_reason"] for each in packages if "skip_reason" in each},
    )


def told(findings: Findings) -> list[str]:
    lines = [f"known weakness: {each}" for each in findings.weaknesses]
    if findings.unaudited:
        name, reason = next(iter(findings.unaudited.items()))
        count = len(findings.unaudited)
        lines.append(f"not audited: {count} of {count + findings.audited} packages, such as {name}: {reason}")
    if findings.audited and not findings.weaknesses:
        lines.append(f"audited: {findings.audited} packages, of which no weakness is known")
    return lines


def exit_status(findings: Findings, *, is_required: bool) -> int:
    return int(bool(findings.weaknesses) or (is_required and bool(findings.unaudited)))


def _line(package: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    mended = ", ".join(found.get("fix_versions") or []) or "none yet"
    return f"{package['name']} {package['version']}: {found['id']}, mended in: {mended}"


def audit(folder: Path) -> Findings:
    """All deployables at once. Raises BundlingFailed."""
    requirements, report = folder / "requirements.txt", folder / "report.json"
    groups = [word for group in (*deployables(), TRACING_GROUP) for word in ("--only-group", group)]
    requirements.write_text(run_uv("export", "--frozen", "--no-emit-project", "--no-header", "--no-annotate", *groups))
    arguments = ("--timeout", _TIMEOUT_SECONDS, "--requirement", str(requirements), "--output", str(report))
    done = subprocess.run(  # noqa: S603 - a program of this environment, on files of ours
        [sys.executable, "-P", "-m", *_PIP_AUDIT, *arguments], capture_output=True, text=True, check=False
    )
    if report.exists():
        return findings_of(json.loads(report.read_text(encoding="utf-8")))
    # It ends without a report where its service cannot be reached: the last line says why.
    reason = (done.stderr.strip().splitlines() or [f"pip-audit ended with {done.returncode}"])[-1]
    return Findings(unaudited=dict.fromkeys(_names_in(requirements), reason))


def _names_in(requirements: Path) -> list[str]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [line.partition("==")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))]


def main(arguments: Sequence[str]) -> int:
    try:
        with TemporaryDirectory() as folder:
            findings = audit(Path(folder))
    except BundlingFailed as failure:
        sys.stdout.write(f"not audited: {failure}\n")
        return int(REQUIRED in arguments)
    sys.stdout.write("\n".join(told(findings)) + "\n")
    return exit_status(findings, is_required=REQUIRED in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
