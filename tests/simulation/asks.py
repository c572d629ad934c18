"""What callers of the API ask for."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from shared.domain.durations import format_duration
from shared.domain.instants import SECOND, Instant, to_rfc3339
from tests.simulation.profile import Profile

_TARGET = {"type": "handler", "name": "simulated"}
_HOSTS = ("one.example.com", "two.example.com", "three.example.com")
_LANES = ("default", "long")
_OVERLAPS = ("skip", "buffer_one", "cancel_other")


_WINDOWS = ("PT1S", "PT5S", "PT30S")


class Asks:
    """What callers ask for: jobs of every kind, most of them due within the run."""

    def __init__(self, random: Random, profile: Profile, *, ends_at: int | None) -> None:
        self._random = random
        self._profile = profile
        #: Of jobs that fire often: before a silence they must be over.
        self.ends_at = ends_at

    def job(self, job_id: str, now: Instant) -> dict[str, Any]:
        body: dict[str, Any] = {"job_id": job_id, "schedule": self.schedule(now), "target": self._target()}
        if self._profile.is_strict:
            body["group"] = self.group()
        body["timeout"] = self._random.choice(["PT1S", "PT10S", "PT60S", "PT5M"])
        if self._random.random() < 0.1:
            body["keep_after_completion"] = "PT0S"
        if self._random.random() < 0.4:
            body["retry"] = {
                "max_attempts": self._random.randint(1, 3),
                # Half of the waits after the last of these are long enough to become a single fire.
                "base": self._random.choice(["PT0S", "PT5S", "PT2M"]),
                "cap": "PT2M",
            }
        if self._random.random() < self._profile.overlapping:
            body |= self._overlap()
        if self._random.random() < 0.4:
            body["misfire"] = self._misfire()
        if self._random.random() < 0.1:
            body["state"] = "paused"
        return body

    def _target(self) -> dict[str, Any]:
        if self._profile.webhooks and self._random.random() < self._profile.webhooks:
            return {"type": "http", "url": f"https://{self._random.choice(_HOSTS)}/hook"}
        return _TARGET

    def group(self) -> str:
        return self._random.choice(["red", "blue"])

    def _misfire(self) -> dict[str, Any]:
        return {
            "policy": self._random.choice(["fire_once", "fire_all", "skip"]),
            "grace": self._random.choice(["PT30S", "PT60S", None]),
            "limit": self._random.randint(1, 4),
        }

    def _overlap(self) -> dict[str, Any]:
        if self._profile.is_strict and self._random.random() < 0.4:
            return {"overlap": "allow", "max_concurrent": self._random.randint(1, 2)}
        return {"overlap": self._random.choice(_OVERLAPS), "max_concurrent": None}

    def patch(self, now: Instant) -> dict[str, Any]:
        """Of one member, each as often as another."""
        random = self._random
        made: dict[str, Callable[[], dict[str, Any]]] = {
            "lane": lambda: {"lane": random.choice(_LANES)},
            "misfire": lambda: {"misfire": self._misfire()},
            "overlap": self._overlap,
            "timeout": lambda: {"timeout": random.choice(["PT1S", "PT10S", "PT20M", "PT5M"])},
            "window": lambda: {"schedule": {"window": random.choice([*_WINDOWS, None])}},
            "payload": lambda: {"payload": {"n": now}},
            "schedule": lambda: {"schedule": self.schedule(now)},
            "retry": lambda: {"retry": {"max_attempts": random.randint(1, 3), "base": "PT0S", "cap": "PT2M"}},
            "keep": lambda: {"keep_after_completion": random.choice(["PT0S", "P1D"])},
        }
        return made[random.choice(self._profile.members or tuple(made))]()

    def schedule(self, now: Instant) -> dict[str, Any]:
        random = self._random
        dice = random.random()
        if dice < self._profile.one_time:
            at = to_rfc3339(Instant(now + random.randint(-60, 90) * SECOND + random.randint(1, 999)))
            return {"at": at, "window": "PT30S"} if self._profile.windowed >= 1 else {"at": at}
        if dice < (0.4 if self.ends_at is not None else 0.36):
            anchor = Instant(now + random.randint(2, 40) * SECOND)
            return {"every": random.choice(["P1D", "PT7H"]), "anchor": to_rfc3339(anchor)}
        schedule = self._recurring(now)
        if random.random() < self._profile.limited:
            schedule["max_runs"] = random.randint(1, 12)
        elif self.ends_at is not None:
            schedule["end_at"] = to_rfc3339(Instant(max(self.ends_at, now + 5 * SECOND)))
        elif random.random() < 0.1:
            schedule["end_at"] = to_rfc3339(Instant(now + random.randint(1, 60) * SECOND))
        if random.random() < self._profile.windowed:
            schedule["window"] = random.choice(_WINDOWS)
        return schedule

    def _recurring(self, now: Instant) -> dict[str, Any]:
        random = self._random
        if self._profile.herded:
            return {"cron": "*/5 * * * * *", "seconds": True}
        if random.random() < 0.5:
            schedule = {"every": format_duration(random.choice([1, 1, 2, 3, 7, 15, 40]) * SECOND)}
            if random.random() < 0.4:
                schedule["anchor"] = to_rfc3339(Instant(now + random.randint(-10, 20) * SECOND))
            return schedule
        expression = random.choice(
            ["*/2 * * * * *", "58,59 * * * * *", "0 * * * * *", "*/10 * * * * *", "0-3 * * * * *"]
        )
        return {"cron": expression, "seconds": True}
