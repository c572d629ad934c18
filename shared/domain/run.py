"""A run: the record of one execution of a slot; and the rules of claiming it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from shared.domain.instants import MINUTE, Instant
from shared.domain.keys import RunKey
from shared.domain.schedules import Gap

#: A run that is claimed, or gives a sign of life, so long after its slot is listed among those that may be alive. A
#: cancel finds slots of the last 15 minutes by their run_id; the ten minutes between are for the next heartbeat.
LISTED_AFTER_MS: Final = 5 * MINUTE
#: Random, so that no two claims share one.
CLAIM_ID_BYTES: Final = 12


class RunKind(StrEnum):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CATCH_UP = "catch_up"


class RunStatus(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def is_alive(self) -> bool:
        return self in {RunStatus.WAITING, RunStatus.RUNNING}

    @property
    def is_final(self) -> bool:
        """The target was called for the last time; a duplicate of its message is dropped."""
        return self in {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT}


@dataclass(frozen=True, slots=True)
class RunError:
    """Why an attempt failed. `type` is a stable word (`http_5xx`, `ValueError`), `message` is for people."""

    type: str
    message: str


@dataclass(frozen=True, slots=True)
class Attempt:
    attempt: int
    started_at: Instant | None
    ended_at: Instant | None
    worker_id: str
    error: RunError | None = None
    #: Of the webhook's answer, where there was one.
    http_status: int | None = None
    #: Of the job's definition that it started with; None: it did not start, or nobody knows.
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The row of table `job_runs`. `token` is the fencing token: it only rises, by one at every claim and redrive.

    A WAITING run waits for its attempt number `attempt`, which starts at `lease_until`; nobody runs it.
    """

    job_key: str
    run_id: str
    kind: RunKind
    slot: Instant
    fire_at: Instant
    status: RunStatus
    generation: int
    token: int = 1
    attempt: int = 1
    claim_id: str = ""
    worker_id: str = ""
    lease_until: Instant = Instant(0)
    enqueued_at: Instant | None = None
    received_at: Instant | None = None
    claimed_at: Instant | None = None
    started_at: Instant | None = None
    ended_at: Instant | None = None
    #: Of the job's definition that it started with.
    revision: int | None = None
    reason: str | None = None
    completion: str | None = None
    output: str | None = None
    error: RunError | None = None
    progress: str | None = None
    attempts: tuple[Attempt, ...] = ()
    #: Attempts before the last redrive, and when the first one since then began: the retry policy counts from there.
    attempts_before: int = 0
    tried_since: Instant | None = None
    #: Somebody asked for the end of the run while it ran. It ends CANCELLED, whatever its target answers.
    cancel_requested_at: Instant | None = None
    #: What the target gets instead of the job's payload, as JSON; None: the job's own.
    payload_json: str | None = None
    #: The slots that one SKIPPED row stands for.
    gap: Gap | None = None
    expires_at: Instant | None = None
    #: Where it is traced (`shared.domain.traces`); None when it is not.
    trace: str | None = None

    @property
    def key(self) -> RunKey:
        return RunKey(self.job_key, self.run_id)

    @property
    def http_status(self) -> int | None:
        """Of the answer to the last attempt; None where that had none, or no attempt has ended."""
        return self.attempts[-1].http_status if self.attempts else None

    def is_late_at(self, now: Instant) -> bool:
        """A cancel does not find it by its slot much longer."""
        return now - self.slot > LISTED_AFTER_MS

    def waiting(self, finish: Finish) -> Run:
        """The run as a finish with status WAITING leaves it, as far as a single-fire entry must know."""
        assert finish.lease_until is not None
        assert finish.attempt is not None
        return replace(self, status=finish.status, lease_until=finish.lease_until, attempt=finish.attempt)

    @property
    def has_begun(self) -> bool:
        """Its target was called, or may have been: nobody knows what an attempt did whose worker fell silent."""
        return self.started_at is not None or bool(self.attempts)

    @property
    def last_start(self) -> Attempt | None:
        """Its newest attempt that is known to have started."""
        return next((each for each in reversed(self.attempts) if each.started_at is not None), None)

    @property
    def drift(self) -> Mapping[str, int] | None:
        """`started_at - fire_at` in ms, by the part of the way that took it; None before the start. Parts add up.

        None too where the attempt of this claim never started: the start in the row is that of an earlier one.
        """
        if self.started_at is None or self.started_at < max(self.fire_at, self.claimed_at or 0):
            return None
        return self.drift_at(self.started_at)

    def drift_at(self, started_at: Instant) -> Mapping[str, int]:
        """As `drift` is when the run starts then."""
        parts: dict[str, int] = {"total": started_at - self.fire_at}
        reached = self.fire_at
        for name, moment in (
            ("dispatch", self.enqueued_at),
            ("queue", self.received_at),
            ("claim", self.claimed_at),
            ("start", started_at),
        ):
            arrived = max(reached, moment if moment is not None else reached)
            parts[name] = arrived - reached
            reached = arrived
        return parts


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of an attempt, or the reason why a claimed run never started. Written only where token is still mine.

    With status WAITING the run has not ended: it waits for attempt number `attempt`, which starts at `lease_until`.
    """

    key: RunKey
    token: int
    status: RunStatus
    ended_at: Instant
    started_at: Instant | None = None
    revision: int | None = None
    reason: str | None = None
    completion: str | None = None
    output: str | None = None
    error: RunError | None = None
    attempts: tuple[Attempt, ...] = ()
    expires_at: Instant | None = None
    lease_until: Instant | None = None
    attempt: int | None = None
    tried_since: Instant | None = None
    #: It stands among those that may be alive, or may: to be taken out after its end.
    is_listed: bool = False


def as_cancelled(finish: Finish) -> Finish:
    """What is stored of a finish when the end of the run was asked for: what the attempt left is kept."""
    return replace(
        finish, status=RunStatus.CANCELLED, reason="cancelled", lease_until=None, attempt=None, tried_since=None
    )


def lost_attempt(seen: Run) -> Attempt:
    """What is known of the attempt whose worker fell silent."""
    return Attempt(
        attempt=seen.attempt,
        started_at=seen.started_at,
        ended_at=None,
        worker_id=seen.worker_id,
        error=RunError("lost", "the worker fell silent and its lease ran out"),
        revision=seen.revision,
    )


#: Why a slot is left out that its job does not want any more, or not now.
_OF_SLOTS: Final = frozenset({"paused", "superseded"})


def goes_on(run: Run, reason: str, *, changed_at: Instant, clock_bound_ms: int) -> bool:
    """A claimed run starts its next attempt though `reason` says that its slot is left out: what an attempt has started
    is never skipped.

    Of an attempt whose worker fell silent nobody knows whether it started. It did not where it was claimed after the
    job's last change, `changed_at`: its worker read the job after that. Two hosts wrote these times, so they count as
    apart only by more than the clock bound.
    """
    if reason not in _OF_SLOTS or not run.has_begun:
        return False
    if run.last_start is not None or run.tried_since is None:
        return True
    return run.tried_since <= changed_at + clock_bound_ms


# What to do with a message whose run row exists already. ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Mine:
    """The row is of this very claim: its answer was lost on the way."""

    run: Run


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The run has ended: drop the message."""

    run: Run


@dataclass(frozen=True, slots=True)
class HideUntil:
    """The run is alive elsewhere: hide the message, never delete it."""

    instant: Instant


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Claim over the old row with a higher token."""

    token: int
    attempt: int


ClaimDecision = Mine | Duplicate | HideUntil | TakeOver


def may_be_fired_anew(run: Run, generation: int) -> bool:
    """A slot was SKIPPED or CANCELLED, and a newer generation of its job fires it after all. Not where this very run
    was cancelled by somebody, or found no place: a generation may send again what the one before has settled.
    """
    return (
        not run.status.is_alive
        and not run.status.is_final
        and run.generation < generation
        and run.cancel_requested_at is None
        and run.reason != "overlap"
    )


#: Of the time a run has been alive already: how long the message of a live run is hidden at least.
_LOOKS_PER_AGE = 20


def decide_claim(  # noqa: PLR0911 (one return for each row of the rule)
    existing: Run, *, claim_id: str, generation: int, now: Instant, clock_bound_ms: int, early_ms: int
) -> ClaimDecision:
    """The claim rule, on the row as it was read consistently after the insert was refused.

    A RUNNING run is taken over once its lease is over by the clock bound: until then a host whose clock is behind may
    rightly think that it holds it. A WAITING run is nobody's, so no two hosts can disagree about it: it may be claimed
    `early_ms` before it starts, and is held for the rest. A clock that is ahead only shortens the wait.
    """
    if existing.claim_id == claim_id:
        return Mine(existing)
    if existing.status.is_final:
        return Duplicate(existing)
    if not existing.status.is_alive:
        if may_be_fired_anew(existing, generation):
            return TakeOver(existing.token + 1, existing.attempt)
        return Duplicate(existing)
    if existing.status is RunStatus.WAITING:
        claimable_at = Instant(existing.lease_until - early_ms)
        return HideUntil(claimable_at) if now < claimable_at else TakeOver(existing.token + 1, existing.attempt)
    lapses_at = Instant(existing.lease_until + clock_bound_ms + 1)
    if now < lapses_at:
        return HideUntil(_next_look(existing, lapses_at, now))
    return TakeOver(existing.token + 1, existing.attempt + 1)


def has_fallen_silent(seen: Run, row: Run, *, watched_ms: float, lease_ms: int, now: Instant) -> bool:
    """Whether a RUNNING run may be taken over though its lease is not over by the clock bound.

    Its row was seen once, and stands there unchanged `watched_ms` later, by the monotonic clock of who watches. Its
    worker trusts the lease for `lease_ms` from before it wrote it, by a monotonic clock too, and so for no longer than
    it was watched: no clocks are compared. `now` only keeps a worker with a shorter lease from judging a longer one.
    """
    is_same = (row.token, row.claim_id, row.lease_until) == (seen.token, seen.claim_id, seen.lease_until)
    return is_same and row.status is RunStatus.RUNNING and watched_ms > lease_ms and now > row.lease_until


def _next_look(existing: Run, lapses_at: Instant, now: Instant) -> Instant:
    """When the message of a live run is to be looked at again. Every look is a receive, and the queue counts them: of
    a run that takes hours not each lease may cost one, or its message ends among the dead letters.
    """
    age_ms = max(now - (existing.claimed_at if existing.claimed_at is not None else now), 0)
    return Instant(max(lapses_at, now + age_ms // _LOOKS_PER_AGE))
