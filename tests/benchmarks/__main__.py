"""Runs the benchmarks, each in a process of its own, then holds all figures against the budgets.

    python -P -m tests.benchmarks [name ...]     or     make bench

Without names all are run but for those that take long or need what is not installed by default. Ends with 1
when a budget is not met or not measured, or a bench failed. A figure of a bench that was not run is the committed one.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from tests.benchmarks import report
from tests.benchmarks.budgets import BUDGETS
from tests.benchmarks.outcome import FOLDER, ROOT, SKIPPED, Result, read_all, say

#: In the order in which they run; the whole takes half an hour on two cores.
BENCHES = (
    *("wheel", "schedules", "api", "units", "dispatch", "load", "quarter", "growth"),
    *("end_to_end", "slow_receivers", "fail_over"),
)
#: Only when named: the last two take longer than all the others together.
ON_DEMAND = ("worker", "load_from_tables", "peers")


def run(name: str) -> int:
    """The bench's exit code."""
    if find_spec(f"tests.benchmarks.{name}") is None:
        say(f"{name}: there is no such bench")
        return SKIPPED
    say(f"== {name}")
    began = time.monotonic()
    code = subprocess.run([sys.executable, "-P", "-m", f"tests.benchmarks.{name}"], cwd=ROOT, check=False).returncode
    say(f"== {name}: {'ended' if not code else f'ended with {code}'} after {time.monotonic() - began:.0f} s", "")
    return code


def verdicts(results: Mapping[str, Result]) -> list[str]:
    """A line for each budget, and what was found under it."""
    return [
        line
        for row in BUDGETS
        for line in (f"{row.verdict(results):14}{row.what}: {row.budget}", f"{'':14}{row.figure(results)}")
    ]


def main(names: Sequence[str]) -> int:
    unknown = set(names) - {*BENCHES, *ON_DEMAND}
    if unknown:
        say(f"no such bench: {', '.join(sorted(unknown))}; there are {', '.join((*BENCHES, *ON_DEMAND))}")
        return 2
    codes = {name: run(name) for name in names or BENCHES}
    report.main()
    results = read_all()
    say(*verdicts(results), "", f"results: {FOLDER.relative_to(ROOT)}")
    failed = [name for name, code in codes.items() if code not in (0, SKIPPED)]
    unmet = [row.what for row in BUDGETS if row.verdict(results) != "ok"]
    if failed:
        say(f"failed: {', '.join(failed)}")
    if unmet:
        say(f"not met or not measured: {', '.join(unmet)}")
    return 1 if failed or unmet else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
