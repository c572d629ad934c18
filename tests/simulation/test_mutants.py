"""The simulation bites: each planted bug is found."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.simulation.planted import MUTANTS, Mutant, find
from tests.simulation.survey import MOST_SEEDS, README, findings, with_table


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    """At the seed of the last survey, unless the code has changed since: then the worlds are others, and it is looked
    for from 0 on.
    """
    stored = findings().get(mutant.name)
    result = find(mutant, chain([] if stored is None else [stored.seed], range(MOST_SEEDS)))
    assert result is not None, f"left out, and nobody noticed: {mutant.rule}"
    assert not mutant.simulate(result.seed).violations, "seen without the bug too"


def test_the_table_in_the_readme_is_that_of_the_last_survey() -> None:
    readme = README.read_text()
    assert with_table(readme, findings()) == readme
