"""`python -P -m tests.simulation.survey [NAME ...]`: which seed is the first to find each planted bug.

Each finding is stored as it comes in `found.json`, from which `test_mutants.py` works, and in the table of the README.
So a survey may be broken off at any time; `--rest` goes on with what its seed of then does not find any more.
"""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time

from tests.simulation.planted import FOUND, MENDED, MUTANTS, OWN, REQUIRED, Mutant, find

FOLDER = Path(__file__).parent
FOUND_FILE = FOLDER / "found.json"
README = FOLDER / "README.md"
BEGIN, END = "<!-- planted: made by tests.simulation.survey -->", "<!-- end of planted -->"
#: More than any of them needs.
MOST_SEEDS = 2_000
MUTANT_NAMES = [mutant.name for mutant in MUTANTS]
_TITLES = {
    "Rules of the protocol:": REQUIRED,
    "Found in the real code by the simulation, corrected, and planted again:": FOUND,
    "Found by other means, corrected, and planted again:": MENDED,
    "More:": OWN,
}


@dataclass(frozen=True, slots=True)
class Finding:
    """`seed` is the first from 0; `worlds` is how many of them were tried, and `seconds` of one processor it took."""

    seed: int
    worlds: int
    seconds: float
    seen_as: str


def findings() -> dict[str, Finding]:
    """By name, of the last surveys."""
    stored = json.loads(FOUND_FILE.read_text()) if FOUND_FILE.exists() else {}
    return {name: Finding(**finding) for name, finding in stored.items()}


def look_for(name: str) -> tuple[str, Finding | None]:
    mutant = by_name(name)
    began = process_time()
    result = find(mutant, range(MOST_SEEDS))
    if result is None:
        return name, None
    if mutant.simulate(result.seed).violations:
        raise AssertionError(f"seed {result.seed} is red without {name} too: first put that right")
    worlds = sum(map(mutant.may_matter, range(result.seed + 1)))
    seconds = round(process_time() - began, 1)
    return name, Finding(result.seed, worlds, seconds, result.violations[0].invariant)


def is_found(name: str) -> bool:
    """Its stored seed still finds it."""
    finding = findings().get(name)
    return finding is not None and find(by_name(name), [finding.seed]) is not None


def by_name(name: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.name == name)


def table(found: dict[str, Finding]) -> str:
    """For the README."""
    lines = []
    for title, mutants in _TITLES.items():
        lines += [title, "", "| planted | rule left out | first seed | worlds tried | CPU s | seen as |"]
        lines += ["|---|---|---|---|---|---|"]
        for mutant in mutants:
            finding = found.get(mutant.name)
            figures = "- | - | - | not yet"
            if finding is not None:
                figures = f"{finding.seed} | {finding.worlds} | {finding.seconds} | {finding.seen_as}"
            lines.append(f"| {mutant.name} | {mutant.rule} | {figures} |")
        lines.append("")
    return "\n".join(lines)


def with_table(readme: str, found: dict[str, Finding]) -> str:
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table(found)}\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str]) -> int:
    parser = ArgumentParser(prog="python -P -m tests.simulation.survey", description=__doc__)
    parser.add_argument("names", nargs="*", help="of planted bugs; all of them if none is named")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rest", action="store_true", help="only those that their stored seed does not find")
    given = parser.parse_args(arguments)
    names = given.names or MUTANT_NAMES
    are_missed = False
    with get_context("spawn").Pool(given.processes) as pool:
        if given.rest:
            names = [name for name, is_known in zip(names, pool.map(is_found, names), strict=True) if not is_known]
        for name, finding in pool.imap_unordered(look_for, names):
            print(f"{name:<20} {finding or f'NOT FOUND in {MOST_SEEDS}'}", flush=True)
            if finding is None:
                are_missed = True
            else:
                store(name, finding)
    return 1 if are_missed else 0


def store(name: str, finding: Finding) -> None:
    """Beside what other surveys found of other bugs."""
    found = findings() | {name: finding}
    ordered = {mutant.name: found[mutant.name] for mutant in MUTANTS if mutant.name in found}
    FOUND_FILE.write_text(json.dumps({name: asdict(each) for name, each in ordered.items()}, indent=1) + "\n")
    README.write_text(with_table(README.read_text(), ordered))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
