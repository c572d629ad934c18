"""`python -P -m tests.simulation SEEDS FIRST`: run so many seeds from FIRST on, over all processors.

`python -P -m tests.simulation --trace SEED` runs one and prints what happened.
"""

# ruff: noqa: T201 (a command)

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections import Counter
from dataclasses import fields
from functools import partial
from multiprocessing import get_context
from time import monotonic

from tests.simulation.families import BY_NAME
from tests.simulation.profile import Profile
from tests.simulation.script import simulate
from tests.simulation.world import Result


def main(arguments: list[str] | None = None) -> int:
    parser = ArgumentParser(prog="python -P -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=300, help="how many")
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first one")
    parser.add_argument("--trace", type=int, metavar="SEED", help="run this one and print everything")
    parser.add_argument("--family", choices=BY_NAME, help="all worlds are of this one; each seed draws one otherwise")
    given = parser.parse_args(arguments)
    if given.trace is not None:
        result = simulate(given.trace, family=given.family, is_traced=True)
        print("\n".join(result.trace))
        report(result)
        return 1 if result.violations else 0
    failed = run(range(given.first, given.first + given.seeds), given.family)
    return 1 if failed else 0


def run(seeds: range, family: str | None = None) -> list[Result]:
    """The runs that broke an invariant; each is printed as it is found."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    failed = []
    runs = 0
    began = monotonic()
    with get_context("spawn").Pool(processors) as pool:
        for result in pool.imap_unordered(partial(simulate, family=family), seeds, chunksize=4):
            runs += result.runs
            if result.violations:
                failed.append(result)
                report(result)
    kinds = Counter(violation.invariant for result in failed for violation in result.violations[:1])
    took = f"{monotonic() - began:.0f} s"
    print(f"{len(seeds)} seeds from {seeds.start} in {took}, {runs} runs, {len(failed)} seeds failed {dict(kinds)}")
    return failed


def report(result: Result) -> None:
    print(f"seed {result.seed}: {len(result.violations)} violations, {result.runs} runs, {_unusual(result.profile)}")
    for violation in result.violations[:5]:
        print(f"  {violation}")
    if result.violations:
        named = f" --family {result.family}" if result.family else ""
        print(f"  again: python -P -m tests.simulation --trace {result.seed}{named}", flush=True)


def _unusual(profile: Profile) -> str:
    """What is not as it is by default."""
    default = Profile(duration_ms=0)
    values = {each.name: getattr(profile, each.name) for each in fields(profile)}
    shown = {name: value for name, value in values.items() if value != getattr(default, name) and name != "calls"}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


if __name__ == "__main__":
    sys.exit(main())
