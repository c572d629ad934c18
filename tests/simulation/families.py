"""Families of worlds, each with its own dice: a seed draws one of them, unless it is asked for one by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from shared.domain.instants import DAY, HOUR, SECOND
from tests.simulation import (
    families_for_plants,
    families_of_calls,
    families_of_nodes,
    families_of_slots,
    families_of_workers,
)
from tests.simulation.profile import OPERATIONS, Profile

Family = Callable[[Random], Profile]


def profile_of(random: Random, family: str | None = None) -> Profile:
    """As the dice have it. They decide the family too, unless it is named."""
    make = _drawn(random) if family is None else BY_NAME[family]
    profile = replace(make(random), audits=random.random() < 0.5)
    if profile.focus or not profile.faulty or random.random() > 0.4:
        return profile
    return replace(profile, focus=frozenset(random.sample(OPERATIONS, random.randint(1, 2))))


def _drawn(random: Random) -> Family:
    if random.random() < _SHARE_OF_NAMED:
        return random.choice(list(_NAMED.values()))
    kind = random.random()
    return next(family for until, family in _DRAWN if kind < until)


def _one_failure(random: Random) -> Profile:
    """Healthy stores and clocks, and one failure at a time: I6 holds to the second."""
    return Profile(
        duration_ms=random.randint(60, 140) * SECOND,
        nodes=random.randint(2, 4),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(3, 8),
        slow=random.choice([0.0, 0.05]),
        trouble_ms=35 * SECOND,
        kills=True,
        pauses=random.random() < 0.5,
        resizes=random.random() < 0.5,
        upgrades=random.random() < 0.5,
        duplicated=0.05,
        slow_runs=0.2,
        is_calm=True,
    )


def _wild_api(random: Random) -> Profile:
    """The fleet is well, while API hosts have bad clocks and commit late."""
    return Profile(
        duration_ms=random.randint(60, 150) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 10),
        api_rate=0.4,
        slow=0.02,
        skew_ms=45 * SECOND,
        slow_commits=0.5,
        is_calm=True,
        silence_ms=random.choice([0, 0, 6 * 60 * SECOND, 2 * HOUR]),
        duplicated=random.choice([0.0, 0.1]),
    )


def _lost_answers(random: Random) -> Profile:
    """Nobody dies, but calls are answered wrongly, late or not at all, and entries come late."""
    return Profile(
        duration_ms=random.randint(60, 120) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 12),
        api_rate=random.choice([0.3, 0.8]),
        slow=random.choice([0.1, 0.3]),
        faulty=random.choice([0.02, 0.05, 0.1, 0.2]),
        skew_ms=random.choice([0, 45 * SECOND]),
        slow_commits=random.choice([0.0, 0.5]),
        duplicated=0.1,
        delayed=0.1,
        unsent=random.choice([0.0, 0.3, 0.7]),
        refused=random.choice([0.0, 0.02]),
    )


def _late_entries(random: Random) -> Profile:
    """What a lost or slow checkpoint may harm: entries that come late, and whose slots are not sent at once."""
    return Profile(
        duration_ms=random.randint(50, 100) * SECOND,
        nodes=random.randint(1, 2),
        jobs=random.randint(8, 14),
        api_rate=2.0,
        slow=0.2,
        faulty=0.05,
        focus=frozenset(random.choice([("fleet.checkpoint",), ("fleet.checkpoint", "lane.send")])),
        skew_ms=random.choice([3, 45]) * SECOND,
        slow_commits=0.5,
        unsent=0.7,
    )


def _outages(random: Random) -> Profile:
    """A healthy fleet whose table or queues are out now and then: afterwards nobody looks dead."""
    return Profile(
        duration_ms=random.randint(80, 140) * SECOND,
        nodes=random.randint(2, 4),
        shards=4,
        jobs=random.randint(3, 7),
        slow=0.05,
        trouble_ms=random.choice([20, 35]) * SECOND,
        outages=True,
        brake=random.random() < 0.2,
    )


def _silence(random: Random) -> Profile:
    """A burst, then nothing for hours, then a burst: owners live long, and watermarks grow old."""
    return Profile(
        duration_ms=random.randint(40, 100) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 1, 2, 4]),
        jobs=random.randint(4, 8),
        slow=0.05,
        faulty=random.choice([0.0, 0.03]),
        trouble_ms=random.choice([0, 15 * SECOND, 30 * SECOND]),
        kills=True,
        pauses=True,
        partitions=random.random() < 0.5,
        outages=random.random() < 0.3,
        skew_ms=random.choice([0, 45 * SECOND]),
        node_skew_ms=random.choice([0, 0, 45 * SECOND]),
        duplicated=0.2,
        delayed=0.2,
        longest_delay_ms=random.choice([20 * SECOND, 30 * HOUR]),
        unsent=random.choice([0.0, 0.1]),
        slow_commits=random.choice([0.0, 0.3]),
        silence_ms=random.choice([HOUR, 7 * HOUR, DAY]),
    )


def _crowded(random: Random) -> Profile:
    """Nodes whose memory is full, so that entries come and go, while shards change hands."""
    return Profile(
        duration_ms=random.randint(80, 140) * SECOND,
        nodes=random.randint(1, 3),
        shards=random.choice([1, 2, 4]),
        jobs=random.randint(8, 14),
        most_residents=random.randint(2, 8),
        api_rate=random.choice([0.3, 1.0]),
        slow=random.choice([0.05, 0.2]),
        faulty=random.choice([0.0, 0.0, 0.05]),
        trouble_ms=random.choice([0, 10, 25]) * SECOND,
        kills=True,
        pauses=random.random() < 0.5,
        resizes=True,
        skew_ms=random.choice([0, 45 * SECOND]),
        slow_commits=random.choice([0.0, 0.3]),
        unsent=random.choice([0.0, 0.3]),
    )


def _storm(random: Random) -> Profile:
    """Everything at once."""
    skew_ms = random.choice([0, 2 * SECOND, 45 * SECOND])
    return Profile(
        duration_ms=random.randint(60, 160) * SECOND,
        nodes=random.randint(2, 4),
        shards=random.choice([1, 1, 2, 4]),
        workers=random.randint(1, 3),
        jobs=random.randint(3, 9),
        api_rate=random.choice([0.1, 0.3, 0.6]),
        slow=random.choice([0.02, 0.1, 0.2]),
        faulty=random.choice([0.0, 0.02, 0.05, 0.15]),
        trouble_ms=random.choice([5, 10, 20]) * SECOND,
        kills=random.random() < 0.8,
        pauses=random.random() < 0.8,
        partitions=random.random() < 0.5,
        outages=random.random() < 0.4,
        brake=random.random() < 0.15,
        resizes=random.random() < 0.5,
        upgrades=random.random() < 0.5,
        skew_ms=skew_ms,
        node_skew_ms=random.choice([0, skew_ms]),
        clock_steps=random.random() < 0.5,
        slow_commits=random.choice([0.0, 0.2, 0.5]),
        duplicated=random.choice([0.0, 0.1, 0.3]),
        delayed=random.choice([0.0, 0.1, 0.3]),
        unsent=random.choice([0.0, 0.1, 0.4]),
        refused=random.choice([0.0, 0.0, 0.03]),
        purged=random.choice([0.0, 0.0, 0.01]),
        slow_runs=random.choice([0.05, 0.3]),
    )


#: Of all worlds; each of these families has the same.
_SHARE_OF_NAMED = 0.4
#: Of the others, with the share up to and including each.
_DRAWN = (
    (0.15, _one_failure),
    (0.28, _wild_api),
    (0.40, _lost_answers),
    (0.48, _late_entries),
    (0.53, _outages),
    (0.67, _silence),
    (0.76, _crowded),
    (1.00, _storm),
)
#: Each is about a few rules, and looks at them strictly.
_NAMED: Mapping[str, Family] = {
    **families_of_calls.BY_NAME,
    **families_of_slots.BY_NAME,
    **families_of_workers.BY_NAME,
    **families_of_nodes.BY_NAME,
}
BY_NAME: Mapping[str, Family] = {
    **{family.__name__.lstrip("_"): family for _, family in _DRAWN},
    **_NAMED,
    **families_for_plants.BY_NAME,
}
