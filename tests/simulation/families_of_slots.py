"""Families of worlds in which jobs are changed, paused, ended and made anew in one way, again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from shared.domain.instants import SECOND
from tests.simulation.profile import Profile


def quiet(random: Random) -> Profile:
    """Nothing fails: what goes wrong is of the changes themselves."""
    return Profile(
        duration_ms=random.randint(40, 70) * SECOND,
        nodes=1,
        workers=1,
        jobs=random.randint(3, 6),
        api_rate=2.0,
        own_changes=0.0,
        slow=0.0,
        slow_runs=0.0,
        one_time=0.0,
        overlapping=0.0,
        is_strict=True,
    )


def _limited_jobs(random: Random) -> Profile:
    """Jobs of so many runs are changed, and go on counting."""
    calls = ("create", "member", "member", "member")
    return replace(quiet(random), calls=calls, members=("window", "misfire"), limited=1.0, windowed=0.5)


def _jittered_jobs(random: Random) -> Profile:
    """Slots wait for their jitter while their jobs are changed."""
    calls = ("create", *["pause_and_resume"] * 4)
    return replace(quiet(random), calls=calls, windowed=1.0, one_time=0.6)


def _messages_in_pauses(random: Random) -> Profile:
    """Messages come late, while their jobs are paused and resumed."""
    calls = ("create", "pause", "resume", "pause_and_resume", "pause_and_resume")
    return replace(quiet(random), calls=calls, delayed=0.5, longest_delay_ms=9 * SECOND)


def _jobs_made_anew(random: Random) -> Profile:
    """Ids are used again at once, by hosts whose clocks differ, while messages of the jobs before are on their way."""
    return replace(
        quiet(random),
        calls=("create", "recreate", "recreate", "recreate", "run_now"),
        skew_ms=random.choice([3, 45]) * SECOND,
        delayed=0.3,
        one_time=0.2,
    )


def _declared_jobs(random: Random) -> Profile:
    """Jobs are declared again and again, and paused, resumed and changed between."""
    calls = ("put", "put_again", "put_again", "put_again", "pause", "resume", "pause_and_resume", "member")
    return replace(quiet(random), calls=calls, members=("misfire", "lane", "timeout"), limited=0.5)


def _behind_changes(random: Random) -> Profile:
    """Jobs are changed while the fleet is behind."""
    return replace(
        quiet(random),
        calls=("create", "member", "member"),
        members=("misfire", "lane", "timeout", "window"),
        nodes=random.randint(1, 2),
        trouble_ms=12 * SECOND,
        brake=True,
    )


def _jobs_that_end(random: Random) -> Profile:
    """Jobs whose runs exclude each other come to their end, and are changed while their last runs go on."""
    return replace(
        quiet(random),
        calls=("create", "create", "member", "recreate"),
        members=("misfire", "lane"),
        limited=1.0,
        overlapping=0.7,
        slow_runs=0.8,
        run_times_ms=(500, 2_000, 9_000),
    )


BY_NAME: Mapping[str, Callable[[Random], Profile]] = {
    "limited_jobs": _limited_jobs,
    "jittered_jobs": _jittered_jobs,
    "messages_in_pauses": _messages_in_pauses,
    "jobs_made_anew": _jobs_made_anew,
    "declared_jobs": _declared_jobs,
    "behind_changes": _behind_changes,
    "jobs_that_end": _jobs_that_end,
}
