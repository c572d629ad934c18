"""What is made of the drift that was seen."""

from __future__ import annotations

from typing import Any, cast

import pytest

from carillon.client.run_documents import Run
from infra.cost.bill import read_prices
from infra.prove.bound import announcement, items_of
from infra.prove.drift import Seen, finding_of, percentile
from infra.prove.findings import Verdict


def run(drift: int | None, status: str = "succeeded") -> Run:
    drift_ms: Any = None if drift is None else {"total": drift}
    return cast("Run", {"status": status, "drift_ms": drift_ms, "ended_at": "2026-12-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("count", "share", "expected"), [(100, 0.5, 50), (100, 0.99, 99), (101, 0.99, 100), (1, 0.99, 1), (3, 0.5, 2)]
)
def test_a_percentile_is_one_of_the_values(count: int, share: float, expected: int) -> None:
    assert percentile(range(1, count + 1), share) == expected


def test_drift_is_told_and_not_judged() -> None:
    seen = Seen(3, [run(9_000), run(5), run(7)])
    finding = finding_of("lane default", seen, is_emulator=False)
    assert finding.verdict is Verdict.PASSED
    assert finding.evidence == "3 of 3 runs: 3 succeeded; drift p50 7 ms, p99 9000 ms, max 9000 ms"


@pytest.mark.parametrize("runs", [[run(5)], [run(5), run(6, "failed")], [run(5), run(None, "skipped")], []])
def test_a_run_that_is_missing_or_did_not_succeed_fails(runs: list[Run]) -> None:
    assert finding_of("lane default", Seen(2, runs), is_emulator=False).verdict is Verdict.FAILED
    assert finding_of("lane default", Seen(2, runs), is_emulator=True).verdict is Verdict.FAILED


def test_figures_of_an_emulator_pass_for_nothing() -> None:
    finding = finding_of("lane default", Seen(1, [run(5)]), is_emulator=True)
    assert finding.verdict is Verdict.NOT_SHOWN
    assert "drift p50 5 ms" in finding.evidence


def test_the_price_grows_with_what_is_measured_and_is_never_nothing() -> None:
    prices = read_prices()
    assert "$0.01 " in announcement(prices, is_smoke=True)
    least = prices.total(items_of(is_smoke=False))
    assert prices.total(items_of(is_smoke=False, seconds=600, herd=200)) > least
    assert "204 jobs" in announcement(prices, is_smoke=False, seconds=600, herd=200)
