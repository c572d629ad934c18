from __future__ import annotations

from itertools import pairwise

import pytest

from shared.observability.samples import Sample


@pytest.mark.parametrize("count", [0, 1, 8])
def test_what_fits_is_kept_whole(count: int) -> None:
    sample = Sample(8)
    for number in range(count):
        sample.add(number)

    assert sample.take() == list(range(count))


@pytest.mark.parametrize("count", [9, 16, 17, 1_000, 4_097])
def test_what_does_not_fit_is_thinned_evenly(count: int) -> None:
    sample = Sample(8)
    for number in range(count):
        sample.add(number)
    kept = sample.take()

    assert 4 <= len(kept) <= 8
    steps = {later - earlier for earlier, later in pairwise(kept)}
    assert len(steps) == 1
    assert count - kept[-1] <= steps.pop()


def test_a_sample_that_was_taken_starts_anew() -> None:
    sample = Sample(2)
    for number in range(100):
        sample.add(number)
    sample.take()
    sample.add(7)
    sample.add(8)

    assert sample.take() == [7, 8]
