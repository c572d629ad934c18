"""Three hundred worlds. `make simulate SEEDS=2000 FIRST=0` runs more."""

from __future__ import annotations

import pytest

from tests.simulation.script import simulate

SEEDS = 300
#: A test for each, so that they spread over processes and a failing one is named.
CHUNK = 25


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_world_breaks_an_invariant(first: int) -> None:
    for seed in range(first, first + CHUNK):
        result = simulate(seed)
        assert not result.violations, (
            f"seed {seed}: {result.violations[0]}\nagain: python -P -m tests.simulation --trace {seed}"
        )


def test_a_seed_gives_the_same_world_again() -> None:
    first, second = simulate(11, is_traced=True), simulate(11, is_traced=True)
    assert first.trace == second.trace
    assert first.runs > 0
