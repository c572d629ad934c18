from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from shared.domain.access import Receipt
from shared.domain.entry import Entry
from shared.domain.errors import StoreError
from shared.domain.instants import Instant
from shared.domain.keys import RunKey, job_id_of
from shared.domain.pages import Page
from shared.domain.run import Finish, Run, RunKind, RunStatus
from shared.ports.job_store import ReceiptUsed, Written


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A live run's sign of life."""

    key: RunKey
    token: int
    lease_until: Instant
    started_at: Instant | None = None
    #: Of the job's definition that it started with.
    revision: int | None = None
    progress: str | None = None
    #: Puts the run among those that may be alive, before it prolongs it: its slot is long past (`Run.is_late_at`).
    lists: bool = False


class HeartbeatAnswer(StrEnum):
    KEPT = "kept"
    #: The lease is extended all the same: the run is still ours to end.
    CANCEL_REQUESTED = "cancel_requested"
    FENCED = "fenced"
    #: The store did not take this one. Nothing is known of the run: it keeps the lease that it has.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RowThere:
    """Nothing was written: the row is not as it was seen. `run` is what it is (None: no row)."""

    run: Run | None


@dataclass(frozen=True, slots=True)
class Erased:
    """`is_done`: no run of the job is left, alive ones included."""

    count: int
    is_done: bool


PlanOutcome = Written | RowThere | ReceiptUsed


@dataclass(frozen=True, slots=True)
class FailureFilter:
    """All members must hold; an empty filter admits every failed run. `since` and `until` are about ended_at."""

    job_id: str | None = None
    error_type: str | None = None
    since: Instant | None = None
    until: Instant | None = None

    def admits(self, run: Run) -> bool:
        ended_at = run.ended_at or 0
        return (
            (self.job_id is None or job_id_of(run.job_key) == self.job_id)
            and (self.error_type is None or (run.error is not None and run.error.type == self.error_type))
            and (self.since is None or ended_at >= self.since)
            and (self.until is None or ended_at < self.until)
        )


@dataclass(frozen=True, slots=True)
class RunFilter:
    """All members must hold; an empty filter admits every run of a job. `since` <= slot < `until`; the row of a gap
    counts by its first slot.
    """

    statuses: frozenset[RunStatus] = frozenset()
    kind: RunKind | None = None
    since: Instant | None = None
    until: Instant | None = None

    def admits(self, run: Run) -> bool:
        return (
            (not self.statuses or run.status in self.statuses)
            and (self.kind is None or run.kind is self.kind)
            and (self.since is None or run.slot >= self.since)
            and (self.until is None or run.slot < self.until)
        )


ANY_RUN: Final = RunFilter()


class RunStore(Protocol):
    """Table `job_runs`: history and the fence.

    Batches answer in the order of their arguments, and each item succeeds or fails alone: one that the store does not
    take is answered with its error, ItemRefused when it never will, OutcomeUnknown when it may have. A call raises
    StoreError only when nothing of it was answered.
    """

    def insert(self, runs: Sequence[Run]) -> list[Run | StoreError | None]:
        """Put each run if no row has its key: None when it was put, else the row that is there (consistent read).

        Of two equal keys in one batch only the first is put; the second is answered with the first. After a lost answer
        the row that is there may be one's own: tell by claim_id.
        """
        ...

    def take_over(self, run: Run, *, seen: Run) -> Run | None:
        """Replace the row where token, claim_id, status, lease_until and cancel_requested_at are still as seen: nobody
        claimed, prolonged, ended or cancelled the run since it was read. None when done, else the row that is there
        (`seen` when there is none now).

        `run.token` must exceed `seen.token`. Past attempts of the row are kept, of many the first and the last ones.
        None again when this very claim is what is stored, so a lost answer is no loss.
        """
        ...

    def heartbeat(self, beats: Sequence[Heartbeat]) -> list[HeartbeatAnswer]:
        """Extend each lease where the row is RUNNING with this token; FENCED: it is not, and nothing was written."""
        ...

    def finish(self, finishes: Sequence[Finish]) -> list[RunStatus | StoreError | None]:
        """End each run where the row is RUNNING with this token, and answer the status that is stored then; None:
        fenced, or ended already.

        A run whose end was asked for (`request_cancel`) is stored as `as_cancelled(finish)`, whatever its finish says.
        The same answer again when this very finish (same token, status and ended_at; for WAITING lease_until) is what
        is stored, so a lost answer is no loss.
        WAITING puts the run among those that may be alive; an end takes one out of it that `is_listed`, or waited.
        """
        ...

    def postpone(self, finish: Finish, entry: Entry) -> RunStatus | None:
        """Finish as WAITING and put the single-fire entry that ends the wait, in one transaction. Answers as `finish`.

        Nothing is put where the answer is not WAITING.
        """
        ...

    def plan(self, run: Run, entry: Entry, *, seen: Run | None, receipt: Receipt | None = None) -> PlanOutcome:
        """Put a WAITING run, its single-fire entry and the receipt, all in one transaction.

        Refused with RowThere unless there is no row (`seen` None), or the row has the token, status and
        cancel_requested_at of `seen`, whose past attempts are kept; with ReceiptUsed when the receipt's key is taken,
        which is looked at first. Calling again with the same run, told by its claim_id, after a lost answer is Written
        and changes nothing, until a worker has claimed it: then it is RowThere.
        """
        ...

    def request_cancel(
        self, key: RunKey, *, at: Instant, expires_at: Instant, receipt: Receipt | None = None
    ) -> Run | None:
        """Ask for the end of a run, and answer its row as it is then; None: no row. Raises StoreContended when the run
        moved each time.

        WAITING: it is CANCELLED from now on. RUNNING: `cancel_requested_at` is set, unless it is set already, and the
        next heartbeat or finish of the run obeys. A run that has ended stays as it is.

        The receipt is written in one transaction with that, or by itself where nothing is to be written. Where its key
        is taken the run stays as it is.
        """
        ...

    def record(self, runs: Sequence[Run]) -> list[bool]:
        """Put rows of runs that never start (SKIPPED, FAILED by a sender fault), each only if no row has its key.

        False: there was one; perhaps that of an earlier call with the same run, or of a run of the same key before it.
        Raises StoreError when one was not taken, after all others were put.
        """
        ...

    def get(self, key: RunKey) -> Run | None:
        """Strongly consistent."""
        ...

    def get_many(self, keys: Collection[RunKey]) -> dict[RunKey, Run]:
        """The runs that exist, read strongly consistently; the others are missing from the answer."""
        ...

    def between(self, job_key: str, *, since: Instant, until: Instant) -> list[Run]:
        """The runs with since <= slot < until, by run_id, and before them the one whose run_id precedes theirs, if any
        is there: the row of a gap stands under its first slot. Strongly consistent.
        """
        ...

    def erase(self, job_key: str, *, limit: int) -> Erased:
        """Delete the job's runs but those that are alive, at most about `limit` of them. A repeat goes on."""
        ...

    def list_of_job(
        self, job_key: str, *, only: RunFilter = ANY_RUN, limit: int, cursor: str | None = None
    ) -> Page[Run]:
        """The job's runs, newest run_id first, at most `limit` on a page; strongly consistent.

        Raises InvalidRequest (pointer `#/cursor`) for a cursor this store did not give for this job.
        """
        ...

    def list_failures(self, owner_id: str, *, only: FailureFilter, limit: int, cursor: str | None = None) -> Page[Run]:
        """The owner's FAILED and TIMED_OUT runs, newest ended_at first, at most `limit` on a page. Eventually
        consistent.

        Raises InvalidRequest (pointer `#/cursor`) for a cursor this store did not give for this owner.
        """
        ...

    def alive(self, job_key: str, *, since: Instant) -> list[Run]:
        """The runs that are WAITING or RUNNING and have a slot >= since, have waited, or were late at their claim or at
        a heartbeat that `lists` them; strongly consistent.

        This is what a cancel reads after its write: what it does not see here cannot start.
        """
        ...
