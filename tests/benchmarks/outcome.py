"""What a benchmark found, as a table on the terminal and as a committed file `results/<bench>.json`.

A figure is a median of the bench's runs, under a name that ends in its unit. Figures are what budgets are held against
(`budgets.py`); tables are for readers, and become the README's section (`report.py`).
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from shared.domain.instants import SECOND

FOLDER = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
#: What a bench ends with when what it needs is not installed here: no failure.
SKIPPED = 77

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    #: Under the table, in the README too.
    note: str = ""
    in_readme: bool = True

    def lines(self) -> list[str]:
        """For the terminal: the first column is flush left, the others right."""
        texts = [list(self.columns), *([shown(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[at]) for row in texts) for at in range(len(self.columns))]
        aligned = (
            "  ".join(
                [row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in texts
        )
        return [self.title, *(f"  {line}".rstrip() for line in aligned), *([f"  {self.note}"] if self.note else [])]


def shown(cell: Cell) -> str:
    """Three digits are enough of a measured number."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    size = abs(cell)
    if size >= 100 or cell == int(cell):
        return f"{cell:,.0f}"
    return f"{cell:.1f}" if size >= 10 else f"{cell:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    bench: str
    runs: int
    figures: Mapping[str, float]
    tables: Sequence[Table] = ()
    measured_at: str = ""
    commit: str = ""
    machine: str = ""
    #: Of the last minute: before, after.
    load_average: Sequence[float] = ()

    @classmethod
    def read(cls, path: Path) -> Self:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        tables = tuple(Table(**table) for table in document.pop("tables"))
        return cls(**document, tables=tables)


@dataclass(slots=True)
class Bench:
    """Made before a bench begins, so that the load it found is noted: `bench.report(...)` ends it."""

    name: str
    _load_before: float = field(default_factory=lambda: os.getloadavg()[0])

    def report(self, *, runs: int, figures: Mapping[str, float], tables: Sequence[Table] = ()) -> Result:
        """Print the tables and keep everything in `results`."""
        result = Result(
            bench=self.name,
            runs=runs,
            figures={name: rounded(value) for name, value in figures.items()},
            tables=[rounded_table(table) for table in tables],
            measured_at=datetime.now(UTC).isoformat(timespec="minutes"),
            commit=commit(),
            machine=machine(),
            load_average=[round(self._load_before, 2), round(os.getloadavg()[0], 2)],
        )
        for table in tables:
            say(*table.lines(), "")
        FOLDER.mkdir(exist_ok=True)
        text = json.dumps(asdict(result), indent=1, ensure_ascii=False)
        (FOLDER / f"{self.name}.json").write_text(text + "\n", encoding="utf-8")
        return result

    def skip(self, reason: str) -> int:
        """What the bench ends with when it cannot run here."""
        say(f"{self.name}: skipped, {reason}")
        return SKIPPED


def read_all(folder: Path = FOLDER) -> dict[str, Result]:
    return {path.stem: Result.read(path) for path in sorted(folder.glob("*.json"))}


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of each figure over all runs, which have the same ones."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def rounded(value: float) -> float:
    """To four digits: more are noise in a committed file."""
    return value if isinstance(value, int) else float(f"{value:.4g}")


def rounded_table(table: Table) -> Table:
    rows = [[cell if cell is None or isinstance(cell, str) else rounded(cell) for cell in row] for row in table.rows]
    return replace(table, columns=list(table.columns), rows=rows)


def machine() -> str:
    """`2 x AMD EPYC, 23 GB, Linux, CPython 3.11.7`."""
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{os.cpu_count()} x {_processor()}, {pages * size >> 30} GB, {platform.system()}, {python}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """The commit that was measured; `+` when code was changed since."""
    head = _git("rev-parse", "--short", "HEAD")
    is_changed = _git("status", "--porcelain", "--untracked-files=no", "--", "shared", "functions", "carillon")
    return f"{head}+" if is_changed else head


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def per_second(count: float, seconds: float) -> float:
    return count / seconds if seconds else float("inf")


def milliseconds(seconds: float) -> float:
    return seconds * SECOND
