"""Families of worlds in which callers ask for everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from shared.domain.instants import SECOND
from tests.simulation.profile import CHANGES, Profile


def _changes(random: Random) -> Profile:
    """Jobs are changed in every way, by callers with right clocks, while calls are quick."""
    is_late = random.random() < 0.5
    return Profile(
        duration_ms=random.randint(50, 100) * SECOND,
        nodes=random.randint(1, 2),
        workers=random.randint(1, 2),
        jobs=random.randint(3, 6),
        api_rate=random.choice([0.5, 1.0]),
        own_changes=0.0,
        slow=0.0,
        trouble_ms=random.choice([15, 25]) * SECOND if is_late else 0,
        brake=is_late,
        outages=is_late and random.random() < 0.5,
        duplicated=random.choice([0.0, 0.1]),
        slow_runs=random.choice([0.1, 0.4]),
        run_times_ms=(500, 2_000, 9_000, 20_000),
        calls=CHANGES,
        windowed=0.4,
        is_strict=True,
        is_prompt=True,
    )


def _changes_by_wrong_clocks(random: Random) -> Profile:
    """As that, and the clocks of the API's hosts differ."""
    return replace(_changes(random), skew_ms=random.choice([3, 45]) * SECOND, is_prompt=False)


def _repeats(random: Random) -> Profile:
    """Requests are repeated under their keys, after others have changed what they found."""
    return Profile(
        duration_ms=random.randint(40, 70) * SECOND,
        nodes=1,
        workers=1,
        jobs=3,
        api_rate=2.0,
        own_changes=0.0,
        slow=0.0,
        slow_runs=0.0,
        calls=("create", "pause", "pause", "resume", "resume", "member", *["repeat"] * 5),
        overlapping=0.0,
        is_strict=True,
    )


def _backfills(random: Random) -> Profile:
    """Slots of the past are asked for, while the fleet is behind."""
    return Profile(
        duration_ms=random.randint(90, 140) * SECOND,
        nodes=random.randint(1, 2),
        workers=1,
        jobs=random.randint(3, 5),
        api_rate=0.6,
        own_changes=0.0,
        slow=0.02,
        trouble_ms=20 * SECOND,
        brake=True,
        outages=True,
        unsent=random.choice([0.0, 0.4]),
        slow_runs=0.1,
        run_times_ms=(500, 2_000),
        calls=("create", "member", "member", "reschedule", "backfill", "backfill", "backfill"),
        one_time=0.0,
        overlapping=0.1,
        is_strict=True,
    )


def _ends_asked_for(random: Random) -> Profile:
    """Runs are asked to end, while those of dead workers are taken over."""
    return Profile(
        duration_ms=random.randint(100, 140) * SECOND,
        nodes=1,
        workers=2,
        jobs=3,
        api_rate=2.0,
        own_changes=0.0,
        slow=0.05,
        trouble_ms=6 * SECOND,
        kills=True,
        is_of_workers=True,
        focus=frozenset({"runs.take_over"}),
        clock_bound_ms=2 * SECOND,
        slow_runs=0.8,
        run_times_ms=(9_000, 20_000, 70_000),
        calls=("create", "run_now", "cancel_run", "cancel_run", "cancel_run"),
        overlapping=0.0,
        is_strict=True,
    )


def _many_waiting(random: Random) -> Profile:
    """More runs of a job wait than the answer to its DELETE has room for."""
    return Profile(
        duration_ms=random.randint(40, 60) * SECOND,
        nodes=1,
        workers=1,
        jobs=2,
        api_rate=2.0,
        own_changes=0.0,
        slow=0.02,
        slow_runs=0.9,
        run_times_ms=(20_000,),
        most_named=random.randint(1, 3),
        threads=random.choice([2, 16]),
        calls=("create", *["run_now"] * 8, "delete"),
        overlapping=1.0,
        is_strict=True,
    )


BY_NAME: Mapping[str, Callable[[Random], Profile]] = {
    "changes": _changes,
    "changes_by_wrong_clocks": _changes_by_wrong_clocks,
    "repeats": _repeats,
    "backfills": _backfills,
    "ends_asked_for": _ends_asked_for,
    "many_waiting": _many_waiting,
}
