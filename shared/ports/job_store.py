from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.instants import Instant
from shared.domain.job import Cancellation, Job, JobState
from shared.domain.keys import EntryKey
from shared.domain.overlap import Holder, Place
from shared.domain.pages import Page


@dataclass(frozen=True, slots=True)
class JobWrite:
    """One change of one job, written as a whole or not at all."""

    job: Job
    #: The job as it was read, or None when it must not exist.
    previous: Job | None
    #: None when neither schedule nor state changes: the entry that is there must stay as the scheduler left it.
    put_entry: Entry | None
    #: Where the entry of the previous generation can lie; deleting one that is gone already is no failure.
    remove_entries: tuple[EntryKey, ...] = ()
    receipt: Receipt | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """It is so now, whether by this call or by an earlier one whose answer was lost."""


@dataclass(frozen=True, slots=True)
class RevisionConflict:
    """Nothing was written: the row is not as `previous` says. `current` is what it is (None: no row)."""

    current: Job | None


@dataclass(frozen=True, slots=True)
class ReceiptUsed:
    """Nothing was written: the Idempotency-Key was used before, for this."""

    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Completion:
    """A job has nothing left to fire and its last run has ended; its row goes at `expires_at`."""

    job_key: str
    generation: int
    expires_at: Instant


@dataclass(frozen=True, slots=True)
class Hold:
    """The place of one run at its job, or at its owner: `job_key` is then the row that `owner_places.rows_for` names,
    and the holder's run_id its `holder_id`.
    """

    job_key: str
    holder: Holder
    place: Place = Place.RUN


WriteOutcome = Written | RevisionConflict | ReceiptUsed


@dataclass(frozen=True, slots=True)
class JobFilter:
    """All members must hold; an empty filter admits every job."""

    state: JobState | None = None
    group: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    name_prefix: str | None = None
    #: Tags written `key:value`. Both parts may hold colons, so each admits whatever tag is spelled like that.
    tag_texts: tuple[str, ...] = ()

    def admits(self, job: Job) -> bool:
        return (
            (self.state is None or job.state is self.state)
            and (self.group is None or job.group == self.group)
            and self.tags.items() <= job.tags.items()
            and {*self.tag_texts} <= {f"{key}:{value}" for key, value in job.tags.items()}
            and (self.name_prefix is None or job.name.startswith(self.name_prefix))
        )


class JobStore(Protocol):
    """Definitions, and the one transaction by which the API changes them: job, entry and receipt are written
    together or not at all.
    """

    def get(self, job_key: str) -> Job | None:
        """The job, read strongly consistently. A row past its `expires_at` may still be answered."""
        ...

    def get_many(self, job_keys: Collection[str]) -> dict[str, Job]:
        """The jobs that exist, read strongly consistently; the others are missing from the answer."""
        ...

    def write(self, change: JobWrite) -> WriteOutcome:
        """Put job, entry and receipt, and delete the old entry, all in one transaction.

        Refused with RevisionConflict unless the row has the revision and state of `previous` (no row when that is
        None); with ReceiptUsed when the receipt's key is taken, which is looked at first. Calling again with the same
        change after a lost answer is Written, and changes nothing.
        """
        ...

    def record_cancellation(self, job_key: str, generation: int, cancellation: Cancellation) -> Cancellation:
        """Store what a DELETE answered, unless an answer is stored already; answers what is stored.

        The revision stays. When the job is not of this generation any more, nothing is stored, and `cancellation` is
        answered.
        """
        ...

    def complete(self, completions: Sequence[Completion]) -> list[bool]:
        """Turn each active job of exactly this generation completed; False, and nothing written, otherwise.

        True again when this very completion is what is stored. The revision stays: it counts the API's writes. Answers
        in the order of its argument; each succeeds or fails alone.
        """
        ...

    def hold(self, hold: Hold, *, limit: int, now: Instant, clock_bound_ms: int) -> tuple[Holder, ...]:
        """Take one of the job's `limit` places, as `room_for` allows: empty when it is held, else who has them.

        Holders that fell silent lose theirs. Held again by the same claim it is prolonged, so a lost answer is no loss.
        Neither revision nor what the API writes changes, nor does `write` change holders. Of a job without a row
        nobody holds anything, and nobody is in the way; an owner's row is made by the first who takes a place in it,
        and goes by itself when nobody has for a while.
        """
        ...

    def extend(self, holds: Sequence[Hold]) -> list[bool]:
        """Prolong each place that is still held by this token; False, and nothing written, where it is not."""
        ...

    def release(self, holds: Collection[Hold]) -> None:
        """Leave each place that is held by this token; the others are as they were."""
        ...

    def count_of_owner(self, owner_id: str, *, at_most: int) -> int:
        """How many jobs the owner has, ended ones included, but no more than `at_most`; eventually consistent.

        Roughly where it is far below `at_most`.
        """
        ...

    def list_of_owner(self, owner_id: str, *, only: JobFilter, limit: int, cursor: str | None = None) -> Page[Job]:
        """The owner's jobs, newest first by created_at, at most `limit` on a page. Eventually consistent.

        Raises InvalidRequest (pointer `#/cursor`) for a cursor this store did not give for this owner.
        """
        ...
