"""The work that Carillon and its peers are given: which jobs are due when, counted from a first instant."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Work:
    """`jobs` jobs over `seconds`: one-time ones, each due `seconds / jobs` after the one before, or `repeats`, each due
    at every second of them.
    """

    name: str
    title: str
    jobs: int
    seconds: int
    repeats: bool = False

    @property
    def offsets_ms(self) -> list[int]:
        """Of each job's first slot, from the first instant."""
        if self.repeats:
            return [0] * self.jobs
        return [self.seconds * 1000 * number // self.jobs for number in range(self.jobs)]

    @property
    def starts(self) -> int:
        return self.jobs * self.seconds if self.repeats else self.jobs

    def scaled(self, share: float) -> Work:
        """The same with fewer jobs, to try things out."""
        return replace(self, jobs=max(10, round(self.jobs * share)))


SPREAD = Work("spread", "2,000 one-time jobs over 20 s", jobs=2_000, seconds=20)
HERD = Work("herd", "5,000 one-time jobs at one instant", jobs=5_000, seconds=0)
EACH_SECOND = Work("each_second", "200 jobs every second for 20 s", jobs=200, seconds=20, repeats=True)
NOW = Work("now", "jobs created for now, 10 a second for 20 s", jobs=200, seconds=20)
