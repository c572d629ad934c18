"""Writes the README's section on performance from `results/*.json`.

python -P -m tests.benchmarks.report
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.benchmarks.budgets import BUDGETS
from tests.benchmarks.outcome import ROOT, Result, Table, read_all, shown

README = ROOT / "README.md"
BEGIN, END = "<!-- benchmarks: written by tests/benchmarks/report.py -->", "<!-- benchmarks: end -->"


def section(results: Mapping[str, Result]) -> str:
    """Everything between the markers."""
    budgets = Table(
        "Budgets",
        ("what", "budget", "measured", ""),
        [(row.what, row.budget, row.figure(results), row.verdict(results)) for row in BUDGETS],
    )
    tables = [table for result in results.values() for table in result.tables if table.in_readme]
    return "\n\n".join(["", *_where(list(results.values())), *map(_markdown, (budgets, *tables)), ""])


def _where(results: Sequence[Result]) -> list[str]:
    intro = (
        "`make bench` measures this and says where a budget of the design is not met; no test asserts a time. "
        "Medians; in brackets of how many runs, and the load average before and after."
    )
    together: dict[str, list[str]] = {}
    for result in results:
        text = f"{result.measured_at[:10]}, commit {result.commit}, {result.machine}"
        load = " to ".join(map(shown, result.load_average))
        together.setdefault(text, []).append(f"{result.bench.replace('_', ' ')} ({result.runs}; {load})")
    lines = [f"* {text}: {', '.join(names)}" for text, names in together.items()]
    return [intro, "\n".join(lines)] if lines else [intro]


def _markdown(table: Table) -> str:
    rule = "|".join(["---", *("---:" if _is_number(table, at) else "---" for at in range(1, len(table.columns)))])
    rows = ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in table.rows]
    lines = ["| " + " | ".join(table.columns) + " |", f"|{rule}|", *rows]
    return "\n\n".join([f"**{table.title}**", "\n".join(lines), *([table.note] if table.note else [])])


def _is_number(table: Table, at: int) -> bool:
    return all(not isinstance(row[at], str) for row in table.rows)


def rewritten(readme: str, text: str) -> str:
    """`readme` with `text` between the markers. Raises ValueError when they are not there."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README lacks the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}{text}{END}{after}"


def main(readme: Path = README) -> None:
    text = readme.read_text(encoding="utf-8")
    readme.write_text(rewritten(text, section(read_all())), encoding="utf-8")


if __name__ == "__main__":
    main()
