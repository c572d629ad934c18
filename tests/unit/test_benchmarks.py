"""The frame of the benchmarks: what is held against a budget, and what the README says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks import report
from tests.benchmarks.__main__ import BENCHES, ON_DEMAND
from tests.benchmarks.budgets import BUDGETS, Budget, Limit
from tests.benchmarks.outcome import Result, Table, read_all

BUDGET = Budget(
    "wheel", ">= 5/s; <= 2 ms", (Limit("insert", "wheel.insert", at_least=5), Limit("", "wheel.step", at_most=2))
)


def found(**figures: float) -> dict[str, Result]:
    return {"wheel": Result(bench="wheel", runs=3, figures=figures)}


def test_the_readme_says_what_was_measured() -> None:
    readme = report.README.read_text(encoding="utf-8")
    assert report.rewritten(readme, report.section(read_all())) == readme, "run python -P -m tests.benchmarks.report"


def test_figures_on_the_limit_are_within_the_budget() -> None:
    assert BUDGET.verdict(found(insert=5, step=2)) == "ok"


@pytest.mark.parametrize("figures", [{"insert": 4.9, "step": 2}, {"insert": 5, "step": 2.1}, {"insert": 4.9}])
def test_one_figure_beyond_its_limit_is_short(figures: dict[str, float]) -> None:
    assert BUDGET.verdict(found(**figures)) == "short"


def test_a_figure_that_nobody_found_is_not_measured() -> None:
    assert BUDGET.verdict(found(insert=5)) == "not measured"
    assert BUDGET.verdict({}) == "not measured"


def test_every_budget_is_held_against_a_bench_that_exists() -> None:
    benches = {limit.figure.partition(".")[0] for row in BUDGETS for limit in row.limits}
    assert benches <= {*BENCHES, *ON_DEMAND}


def test_a_readme_without_the_markers_is_not_touched(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# Carillon\n", encoding="utf-8")
    with pytest.raises(ValueError, match="lacks the lines"):
        report.main(readme)
    assert readme.read_text(encoding="utf-8") == "# Carillon\n"


def test_columns_stand_under_each_other() -> None:
    table = Table("ops/s", ("store", "insert"), [("wheel", 1_234_567), ("heap", None)])
    assert table.lines() == ["ops/s", "  store     insert", "  wheel  1,234,567", "  heap           -"]
