from __future__ import annotations

from collections import Counter

import pytest

from shared.domain.sharding import owner_slice, owner_slices, shard_of


@pytest.mark.parametrize(
    ("job_key", "shard_count", "shard"),
    [
        ("acme/nightly-report", 16, 13),
        ("acme/nightly-report", 4, 1),
        ("acme/nightly-report", 1, 0),
        ("globex/a", 16, 10),
        ("globex/b", 16, 11),
        ("o/0", 16, 2),
    ],
)
def test_golden_values_for_ever(job_key: str, shard_count: int, shard: int) -> None:
    """A changed hash would look for every stored job in the wrong shard."""
    assert shard_of(job_key, shard_count) == shard


def test_jobs_spread_evenly() -> None:
    counts = Counter(shard_of(f"acme/job-{number}", 16) for number in range(16_000))
    assert len(counts) == 16
    assert max(counts.values()) < 1.2 * min(counts.values())


def test_an_owner_spreads_over_its_slices() -> None:
    assert {owner_slice("acme", f"job-{number}") for number in range(200)} == set(owner_slices("acme"))
