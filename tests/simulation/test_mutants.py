"""The simulation bites: each planted bug is found within the number of seeds that the README's table says."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, Mutant, find


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    assert find(mutant, mutant.seeds) is not None, f"{mutant.sentence}: nobody noticed"
