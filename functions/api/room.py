"""How many jobs an owner may have.

A counter kept in the transaction of each create would be one hot row for all creates of an owner, and would drift: what
expires is deleted by nobody who could count. So the jobs are counted from the owner's index, roughly and now and then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from functions.api.refusals import TooManyJobs
from shared.ports import Clock, JobStore

#: How long a count is believed while it is far from the limit, and when it is not.
BELIEVED_SECONDS: Final = 600.0
BELIEVED_SECONDS_WHEN_FULL: Final = 10.0
_REMEMBERED: Final = 1_000


@dataclass(frozen=True, slots=True)
class Room:
    jobs: JobStore
    clock: Clock
    most: int
    #: By owner: the count, and until when it is believed.
    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)

    def check(self, owner_id: str) -> None:
        """Raises TooManyJobs."""
        moment = self.clock.monotonic()
        count, until = self._counts.pop(owner_id, (0, moment))
        if until <= moment:
            count = self.jobs.count_of_owner(owner_id, at_most=self.most)
            is_near = 2 * count > self.most
            until = moment + (BELIEVED_SECONDS_WHEN_FULL if is_near else BELIEVED_SECONDS)
        while len(self._counts) >= _REMEMBERED:
            self._counts.pop(next(iter(self._counts)))
        if count < self.most:
            self._counts[owner_id] = (count + 1, until)
            return
        self._counts[owner_id] = (count, until)
        raise TooManyJobs(owner_id, self.most)
