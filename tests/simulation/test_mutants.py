"""The simulation bites: each planted bug is found."""

from __future__ import annotations

import pytest

from tests.simulation.mutants import MUTANTS, Mutant, find

#: Found in hundreds of seeds only, so not looked for here: `python -P -m tests.simulation.mutants 1200` does.
RARE = {"completed_unnamed", "foreign_answer", "fresh_in_flight", "watermark_lowered"}
COMMON = [mutant for mutant in MUTANTS if mutant.name not in RARE]


@pytest.mark.parametrize("mutant", COMMON, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    assert find(mutant, mutant.seeds) is not None, f"{mutant.sentence}: nobody noticed"
