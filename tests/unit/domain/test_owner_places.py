from __future__ import annotations

import pytest

from shared.domain.keys import RunKey
from shared.domain.owner_places import MOST_ROWS_TRIED, PLACES_A_ROW, OwnerMaximums, holder_id, rows_for

RUN = RunKey("owner/a_job", "20261127T013000000Z")


@pytest.mark.parametrize(("maximum", "rows"), [(1, 1), (10, 1), (11, 2), (40, 4)])
def test_the_places_of_all_rows_together_are_the_maximum(maximum: int, rows: int) -> None:
    found = rows_for(RUN, 1, maximum=maximum)

    assert len({row.key for row in found}) == rows
    assert sum(row.limit for row in found) == maximum
    assert all(1 <= row.limit <= PLACES_A_ROW for row in found)


def test_of_many_rows_one_claim_looks_into_a_few_and_many_claims_into_all() -> None:
    assert len(rows_for(RUN, 1, maximum=1000)) == MOST_ROWS_TRIED

    seen = {row.key for token in range(400) for row in rows_for(RUN, token, maximum=1000)}
    assert len(seen) == 100


def test_an_owner_has_its_own_maximum_or_everyones_or_none() -> None:
    maximums = OwnerMaximums({"small": 1, "*": 50})

    assert (maximums.of("small"), maximums.of("other")) == (1, 50)
    assert OwnerMaximums({"small": 1}).of("other") is None


def test_runs_of_two_jobs_at_one_instant_are_told_apart() -> None:
    assert holder_id(RUN) != holder_id(RunKey("owner/job", f"{RUN.run_id}"))
    assert holder_id(RUN) == "20261127T013000000Z_a_job"
