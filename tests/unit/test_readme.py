from __future__ import annotations

from pathlib import Path

import pytest

from functions.api.responses import KINDS, PROBLEMS_URL

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.parametrize("slug", sorted({kind.slug for _, kind in KINDS}))
def test_the_type_of_every_problem_leads_to_its_row(slug: str) -> None:
    _, _, fragment = f"{PROBLEMS_URL}{slug}".partition("#")
    assert f'<a id="{fragment}"></a>' in README
