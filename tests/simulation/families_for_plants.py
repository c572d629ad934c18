"""Families of worlds that seeds do not draw: minutes long, or hardly with another fault than what is planted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from shared.domain.instants import SECOND
from tests.simulation.families_of_slots import quiet
from tests.simulation.profile import Profile


def _owners_at_their_maximum(random: Random) -> Profile:
    """An owner's runs wait for each other for many minutes."""
    return Profile(
        duration_ms=random.randint(480, 600) * SECOND,
        nodes=1,
        workers=random.randint(1, 2),
        jobs=random.randint(8, 12),
        api_rate=random.choice([0.02, 0.05]),
        own_changes=0.0,
        slow=random.choice([0.0, 0.05]),
        owner_maximum=random.randint(1, 2),
        slow_runs=0.9,
        run_times_ms=(20_000, 45_000, 70_000),
        calls=("create", "run_now", "payload", "cancel_run"),
        one_time=0.8,
        limited=1.0,
        overlapping=0.0,
        is_strict=True,
    )


def _given_up(random: Random) -> Profile:
    """Workers die, and what was received a few times is given up by its queue: a function settles it."""
    return Profile(
        duration_ms=random.randint(100, 160) * SECOND,
        nodes=1,
        workers=random.randint(1, 2),
        jobs=random.randint(4, 8),
        api_rate=0.2,
        slow=0.02,
        trouble_ms=10 * SECOND,
        kills=True,
        is_of_workers=True,
        duplicated=0.3,
        most_receives=random.randint(1, 3),
        settles=True,
        slow_runs=0.5,
        one_time=0.5,
        overlapping=0.2,
        calls=("create", "member", "cancel_run", "run_now"),
        is_strict=True,
    )


def _changed_at_their_end(random: Random) -> Profile:
    """Jobs are changed while their last runs go on: who ends these has read what the job was."""
    return replace(
        quiet(random),
        calls=("create", *["member"] * 5),
        members=("misfire", "lane"),
        one_time=0.7,
        limited=1.0,
        slow_runs=0.9,
        run_times_ms=(9_000, 20_000),
    )


def _pauses_by_wrong_clocks(random: Random) -> Profile:
    """Jobs are paused for a while by hosts whose clocks differ."""
    return replace(
        quiet(random),
        duration_ms=random.randint(60, 120) * SECOND,
        calls=("pause", "resume"),
        api_rate=0.4,
        skew_ms=45 * SECOND,
    )


def _full_outboxes(random: Random) -> Profile:
    """The queues are away for a minute or two, and few slots may wait for them."""
    return Profile(
        duration_ms=random.randint(150, 250) * SECOND,
        nodes=random.randint(1, 2),
        jobs=random.randint(12, 16),
        api_rate=0.05,
        own_changes=0.0,
        slow=0.02,
        trouble_ms=60 * SECOND,
        long_outages=True,
        most_waiting=random.randint(5, 20),
        slow_runs=0.0,
        calls=("payload",),
        one_time=0.0,
        limited=0.0,
        overlapping=0.0,
        herded=True,
        is_strict=True,
    )


BY_NAME: Mapping[str, Callable[[Random], Profile]] = {
    "owners_at_their_maximum": _owners_at_their_maximum,
    "given_up": _given_up,
    "changed_at_their_end": _changed_at_their_end,
    "pauses_by_wrong_clocks": _pauses_by_wrong_clocks,
    "full_outboxes": _full_outboxes,
}
