"""Families of worlds in which nodes meet what no store does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from shared.domain.instants import SECOND
from tests.simulation.profile import CHANGES, Profile


def _odd_faults(random: Random) -> Profile:
    """Calls fail as no adapter knows it."""
    calls = random.choice([(), (), ("lane.send",), ("jobs.get_many",), ("runs.finish", "jobs.hold")])
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=random.randint(1, 2),
        shards=random.choice([1, 2]),
        workers=2,
        jobs=random.randint(6, 10),
        api_rate=0.4,
        slow=0.05,
        odd=random.choice([0.1, 0.4]) if calls else random.choice([0.01, 0.03, 0.1]),
        odd_calls=frozenset(calls),
        senders=random.choice([1, 2, 16]),
        slow_runs=0.2,
        calls=CHANGES,
        is_strict=True,
    )


def _odd_sends(random: Random) -> Profile:
    """A queue raises what no adapter knows, while batches wait for their turn."""
    return Profile(
        duration_ms=random.randint(40, 70) * SECOND,
        nodes=random.randint(1, 2),
        jobs=random.randint(14, 24),
        api_rate=0.1,
        own_changes=0.0,
        slow=0.05,
        odd=random.choice([0.1, 0.4]),
        odd_calls=frozenset({"lane.send"}),
        senders=random.choice([1, 2]),
        slow_runs=0.0,
        calls=("member", "create", "payload"),
        one_time=0.1,
        herded=True,
        is_strict=True,
    )


def _leaping_clocks(random: Random) -> Profile:
    """The clock of a node is minutes ahead for some seconds."""
    return Profile(
        duration_ms=random.randint(60, 120) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 2, 4]),
        jobs=random.randint(4, 8),
        api_rate=0.2,
        slow=0.02,
        trouble_ms=random.choice([15, 30]) * SECOND,
        clock_leaps=True,
        is_strict=True,
    )


def _long_outages(random: Random) -> Profile:
    """The queues are away for minutes."""
    return Profile(
        duration_ms=random.randint(300, 500) * SECOND,
        nodes=random.randint(1, 2),
        jobs=random.randint(4, 8),
        api_rate=0.1,
        slow=0.02,
        unsent=random.choice([0.0, 0.5]),
        trouble_ms=120 * SECOND,
        long_outages=True,
        calls=CHANGES,
        is_strict=True,
    )


def _crowded_for_long(random: Random) -> Profile:
    """Full nodes take over what was announced so long ago that no sweep meets it."""
    return Profile(
        duration_ms=random.randint(270, 310) * SECOND,
        nodes=2,
        jobs=random.randint(6, 8),
        most_residents=random.randint(1, 3),
        gets_more_memory=True,
        api_rate=0.03,
        own_changes=0.0,
        slow=0.05,
        trouble_ms=20 * SECOND,
        kills=True,
        slow_runs=0.0,
        calls=("payload",),
        one_time=0.0,
        overlapping=0.0,
    )


def _unreadable_rows(random: Random) -> Profile:
    """Entries and jobs come that this release cannot read."""
    trouble_ms = random.choice([0, 30 * SECOND])
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 2]),
        jobs=random.randint(8, 12),
        api_rate=0.3,
        slow=0.02,
        trouble_ms=trouble_ms,
        kills=True,
        is_calm=not trouble_ms,
        unreadable=random.choice([0.1, 0.3]),
        one_time=0.1,
        slow_runs=0.1,
        is_strict=True,
    )


BY_NAME: Mapping[str, Callable[[Random], Profile]] = {
    "odd_faults": _odd_faults,
    "odd_sends": _odd_sends,
    "leaping_clocks": _leaping_clocks,
    "long_outages": _long_outages,
    "crowded_for_long": _crowded_for_long,
    "unreadable_rows": _unreadable_rows,
}
