from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from shared.domain.instants import Instant
from shared.domain.keys import RunKey
from shared.domain.pages import Page
from shared.domain.run import Finish, Run


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A live run's sign of life."""

    key: RunKey
    token: int
    lease_until: Instant
    started_at: Instant | None = None
    progress: str | None = None


class RunStore(Protocol):
    """Table `job_runs`: history and the fence.

    Batches answer in the order of their arguments, and each item succeeds or fails alone.
    """

    def insert(self, runs: Sequence[Run]) -> list[Run | None]:
        """Put each run if no row has its key: None when it was put, else the row that is there (consistent read).

        Of two equal keys in one batch only the first is put; the second is answered with the first. After a lost answer
        the row that is there may be one's own: tell by claim_id.
        """
        ...

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
        """Replace the row where token, claim_id, status and lease_until are still as seen: nobody claimed, prolonged or
        ended the run since it was read. None when done, else the row that is there (`seen` when there is none now).

        `run.token` must exceed `seen.token`. Past attempts of the row are kept. None again when this very claim is what
        is stored, so a lost answer is no loss.
        """
        ...

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[bool]:
        """Extend each lease where the row is RUNNING with this token; False: fenced.

        Puts the run into index `alive`.
        """
        ...

    def finish(self, finishes: Sequence[Finish]) -> list[bool]:
        """End each run where the row is RUNNING with this token; False: fenced, or ended already.

        True again when this very finish (same token, status and ended_at) is what is stored, so a lost answer is no
        loss.
        Takes the run out of index `alive`.
        """
        ...

    def record(self, runs: Sequence[Run]) -> None:
        """Put rows of runs that never start (SKIPPED, FAILED by a sender fault), each only if no row has its key."""
        ...

    def get(self, key: RunKey) -> Run | None:
        """Strongly consistent."""
        ...

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        """The runs that exist, read strongly consistently; the others are missing from the answer."""
        ...

    def list_of_job(self, job_key: str, *, limit: int, cursor: str | None = None) -> Page[Run]:
        """The job's runs, newest run_id first, strongly consistent. Raises InvalidRequest for a foreign cursor."""
        ...

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        """The runs that are WAITING or RUNNING and have a slot >= since or are in index `alive`; strongly consistent.

        This is what a cancel reads after its write: what it does not see here cannot start.
        """
        ...
