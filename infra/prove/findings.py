"""What a proof saw, and its report. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum


class Verdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    #: It was not tried, or what answered is no judge of it. Never counted as passed.
    NOT_SHOWN = "not shown here"


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    what: str
    verdict: Verdict
    #: What was seen; where it failed, what was expected too; where it was not shown, why.
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    #: RFC 3339.
    at: str
    environment: str
    version: str
    #: Who answered: an account and a Region, or the address of an emulator.
    against: str
    findings: tuple[Finding, ...]

    @property
    def has_failed(self) -> bool:
        return any(each.verdict is Verdict.FAILED for each in self.findings)

    def count(self, verdict: Verdict) -> int:
        return sum(each.verdict is verdict for each in self.findings)

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"

    def as_markdown(self) -> str:
        counts = ", ".join(f"{self.count(verdict)} {verdict}" for verdict in Verdict)
        lines = [
            f"# Proof of {self.environment}, {self.at}",
            "",
            f"Carillon {self.version} against {self.against}: {counts}.",
        ]
        # What failed comes first, for that is what a reader looks for.
        for verdict in (Verdict.FAILED, Verdict.NOT_SHOWN, Verdict.PASSED):
            lines += _section(verdict, [each for each in self.findings if each.verdict is verdict])
        return "\n".join(lines) + "\n"


def _section(verdict: Verdict, findings: Sequence[Finding]) -> list[str]:
    if not findings:
        return []
    rows = [f"| {each.part} | {_cell(each.what)} | {_cell(each.evidence)} |" for each in findings]
    return ["", f"## {str(verdict).capitalize()}", "", "| part | what | seen |", "|---|---|---|", *rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
