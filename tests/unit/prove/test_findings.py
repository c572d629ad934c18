"""The report of a proof."""

from __future__ import annotations

import json
from dataclasses import replace

from infra.prove.findings import Finding, Report, Verdict

PASSED = Finding("tables", "keys", Verdict.PASSED, "accepted: 1")
FAILED = Finding("queue", "a batch | of ten", Verdict.FAILED, "expected 10,\ngot 9")
UNSEEN = Finding("roles", "denied calls", Verdict.NOT_SHOWN, "an emulator is no judge of it")
REPORT = Report("2026-12-01T13:00:00Z", "prod", "0.1.0", "account 1", (PASSED, FAILED, UNSEEN))


def test_what_failed_stands_first_and_what_was_not_shown_counts_as_nothing_else() -> None:
    text = REPORT.as_markdown()
    assert "Carillon 0.1.0 against account 1: 1 passed, 1 failed, 1 not shown here." in text
    assert text.index("## Failed") < text.index("## Not shown here") < text.index("## Passed")


def test_a_cell_stays_one_cell_of_one_line() -> None:
    assert "| queue | a batch \\| of ten | expected 10, got 9 |" in REPORT.as_markdown().splitlines()


def test_json_has_every_finding() -> None:
    document = json.loads(REPORT.as_json())
    assert [each["verdict"] for each in document["findings"]] == ["passed", "failed", "not shown here"]
    assert document["at"] == REPORT.at


def test_what_was_not_shown_fails_nothing() -> None:
    assert REPORT.has_failed
    assert not replace(REPORT, findings=(PASSED, UNSEEN)).has_failed
