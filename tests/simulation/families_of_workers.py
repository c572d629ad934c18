"""Families of worlds in which workers, and what they claim, meet what no store does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from shared.domain.instants import SECOND
from tests.simulation.profile import CHANGES, Profile


def _few_threads(random: Random) -> Profile:
    """More runs are due than a worker has threads; jobs change while they wait."""
    return Profile(
        duration_ms=random.randint(50, 90) * SECOND,
        nodes=1,
        workers=random.randint(1, 2),
        jobs=random.randint(6, 10),
        api_rate=random.choice([0.5, 1.0]),
        own_changes=0.0,
        slow=0.0,
        threads=random.randint(1, 4),
        slow_runs=0.6,
        run_times_ms=(500, 2_000, 4_000),
        calls=CHANGES,
        is_strict=True,
        is_prompt=True,
    )


def _workers_come_and_go(random: Random) -> Profile:
    """Workers are killed, and told to go while they hold, start and end runs."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        workers=random.randint(2, 3),
        jobs=random.randint(5, 9),
        api_rate=0.3,
        slow=random.choice([0.0, 0.1, 0.3]),
        trouble_ms=random.choice([4, 8]) * SECOND,
        kills=random.random() < 0.6,
        worker_stops=True,
        focus=frozenset(random.choice([(), (), ("runs.take_over",), ("jobs.complete",)])),
        clock_steps=random.random() < 0.3,
        skew_ms=random.choice([0, 2 * SECOND]),
        threads=random.choice([2, 4, 16]),
        unstarted_threads=random.choice([0.0, 0.0, 0.2]),
        slow_runs=0.3,
        run_times_ms=(500, 2_000, 9_000),
        calls=CHANGES,
        overlapping=0.5,
        is_strict=True,
    )


def _functions(random: Random) -> Profile:
    """Lanes are worked by functions."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        workers=0,
        functions=True,
        function_ms=random.choice([40, 90]) * SECOND,
        jobs=random.randint(5, 9),
        api_rate=0.3,
        slow=random.choice([0.0, 0.1]),
        faulty=random.choice([0.0, 0.03]),
        duplicated=0.1,
        slow_runs=0.2,
        calls=CHANGES,
        is_strict=True,
    )


def _old_messages(random: Random) -> Profile:
    """Messages are as old as a queue keeps any, and few receives make one undeliverable."""
    return Profile(
        duration_ms=random.randint(60, 120) * SECOND,
        nodes=1,
        jobs=random.randint(4, 8),
        slow=0.05,
        duplicated=0.2,
        aged=random.choice([0.0, 0.3]),
        most_receives=random.choice([4, 8, 100]),
        slow_runs=0.5,
        trouble_ms=random.choice([0, 20]) * SECOND,
        kills=True,
        overlapping=0.4,
        calls=CHANGES,
        is_strict=True,
    )


def _long_pauses(random: Random) -> Profile:
    """Workers sleep through their leases, and others take over what they had."""
    return Profile(
        duration_ms=random.randint(150, 220) * SECOND,
        nodes=1,
        workers=random.randint(2, 3),
        jobs=random.randint(4, 7),
        api_rate=0.2,
        slow=0.0,
        trouble_ms=random.choice([15, 30]) * SECOND,
        pauses=True,
        pauses_ms=(25_000, 50_000, 70_000),
        clock_bound_ms=2 * SECOND,
        threads=random.choice([1, 2, 16]),
        slow_runs=0.4,
        run_times_ms=(2_000, 20_000, 70_000),
        calls=("create", "payload", "run_now"),
        overlapping=0.6,
        is_strict=True,
    )


def _last_runs(random: Random) -> Profile:
    """Workers die while jobs end."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        workers=2,
        jobs=random.randint(8, 14),
        api_rate=0.5,
        own_changes=0.0,
        slow=0.05,
        trouble_ms=4 * SECOND,
        kills=True,
        is_of_workers=True,
        focus=frozenset({"jobs.complete"}),
        calls=("create", "create", "member", "delete", "recreate"),
        one_time=0.8,
        overlapping=0.4,
        is_strict=True,
    )


def _preempted_stops(random: Random) -> Profile:
    """Workers are told to go, and lose the processor while they look which runs have begun."""
    return Profile(
        duration_ms=random.randint(40, 70) * SECOND,
        nodes=1,
        workers=1,
        jobs=random.randint(16, 24),
        api_rate=0.3,
        own_changes=0.0,
        slow=0.0,
        trouble_ms=3 * SECOND,
        worker_stops=True,
        preempted=random.choice([0.2, 0.5]),
        threads=random.choice([1, 2]),
        slow_runs=0.9,
        run_times_ms=(500, 1_000),
        calls=("create", "run_now", "cancel_run"),
        one_time=0.1,
        herded=True,
        overlapping=0.1,
        is_strict=True,
    )


def _slow_places(random: Random) -> Profile:
    """Places take their time, while clocks of workers are set."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        workers=2,
        jobs=random.randint(5, 8),
        api_rate=0.1,
        own_changes=0.0,
        slow=0.0,
        focus=frozenset({"jobs.hold"}),
        trouble_ms=3 * SECOND,
        clock_steps=True,
        is_of_workers=True,
        skew_ms=45 * SECOND,
        slow_runs=0.1,
        run_times_ms=(500, 2_000),
        one_time=0.1,
        overlapping=1.0,
        is_strict=True,
    )


def _refused_rows(random: Random) -> Profile:
    """The table does not take some rows, or does not say so, one at a time; handlers report what no row can hold."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        jobs=random.randint(6, 10),
        api_rate=0.2,
        slow=0.02,
        trouble_ms=random.choice([10, 20]) * SECOND,
        full_jobs=random.random() < 0.5,
        unanswered_rows=random.choice([0.0, 0.05]),
        odd_reports=random.choice([0.0, 0.5]),
        slow_runs=0.4,
        calls=CHANGES,
        is_strict=True,
    )


def _clocks_apart(random: Random) -> Profile:
    """The clocks of workers are far apart, all of them live, and messages of what runs meanwhile come to others too."""
    return Profile(
        duration_ms=random.randint(80, 120) * SECOND,
        nodes=1,
        workers=3,
        jobs=random.randint(4, 6),
        api_rate=0.05,
        own_changes=0.0,
        slow=0.0,
        skew_ms=45 * SECOND,
        duplicated=0.5,
        delayed=0.2,
        slow_runs=0.8,
        run_times_ms=(9_000, 20_000, 70_000),
        calls=("payload", "run_now"),
        one_time=0.2,
        overlapping=0.0,
        is_strict=True,
    )


def _slow_receivers(random: Random) -> Profile:
    """Webhooks wait for few receivers that take their time; workers die and are told to go meanwhile."""
    return Profile(
        duration_ms=random.randint(60, 100) * SECOND,
        nodes=1,
        workers=random.randint(1, 2),
        functions=random.random() < 0.2,
        jobs=random.randint(6, 10),
        api_rate=0.3,
        own_changes=0.0,
        slow=random.choice([0.0, 0.1]),
        trouble_ms=random.choice([0, 8]) * SECOND,
        kills=random.random() < 0.5,
        pauses=random.random() < 0.3,
        worker_stops=random.random() < 0.5,
        threads=random.choice([1, 2, 16]),
        unstarted_threads=random.choice([0.0, 0.0, 0.2]),
        webhooks=0.8,
        places=random.choice([4, 8, 12]),
        slow_runs=0.6,
        run_times_ms=(500, 5_000, 20_000, 45_000),
        calls=CHANGES,
        one_time=0.2,
        overlapping=0.3,
        is_strict=True,
    )


BY_NAME: Mapping[str, Callable[[Random], Profile]] = {
    "few_threads": _few_threads,
    "workers_come_and_go": _workers_come_and_go,
    "functions": _functions,
    "old_messages": _old_messages,
    "long_pauses": _long_pauses,
    "last_runs": _last_runs,
    "preempted_stops": _preempted_stops,
    "slow_places": _slow_places,
    "refused_rows": _refused_rows,
    "clocks_apart": _clocks_apart,
    "slow_receivers": _slow_receivers,
}
