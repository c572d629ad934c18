"""Settling one undelivered message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from shared.domain.errors import StoreError
from shared.domain.events import job_completed, run_is_over
from shared.domain.instants import DAY, Instant
from shared.domain.message import Dispatch
from shared.domain.run import (
    CLAIM_ID_BYTES,
    Duplicate,
    HideUntil,
    Run,
    RunError,
    RunStatus,
    TakeOver,
    decide_claim,
    lost_attempt,
)
from shared.domain.timing import CLOCK_BOUND_MS
from shared.observability.announcing import Announcements
from shared.observability.logs import logger_for
from shared.ports import (
    Clock,
    DeadLetter,
    DeadLetterQueue,
    Delivery,
    DueQueue,
    JobStore,
    Randomness,
    RunStore,
)
from shared.ports.completing import Ended, complete
from shared.ports.due_queue import hidden_seconds_until

_logger = logger_for("dead_letters")

UNDELIVERED = "undelivered"
#: Between the read of a row and its take-over a worker may move it.
_MOVES_FOLLOWED = 3


@dataclass(frozen=True, slots=True)
class Settings:
    clock_bound_ms: int = 2 * CLOCK_BOUND_MS
    run_retention_ms: int = 30 * DAY


@dataclass(frozen=True, slots=True)
class Settler:
    undelivered: DueQueue
    #: By lane.
    dead_letters: Mapping[str, DeadLetterQueue]
    run_store: RunStore
    job_store: JobStore
    clock: Clock
    randomness: Randomness
    settings: Settings
    announcements: Announcements = field(default_factory=lambda: Announcements(None))

    def settle(self, delivery: Delivery, *, lane: str) -> bool:
        """Whether the message is done with; it is hidden for a while if not. Raises StoreError."""
        if delivery.dispatch is None:
            self._bury(delivery, lane, DeadLetter(delivery.body, "unreadable", "no version here could read it"))
            return True
        run = self._ended(delivery, delivery.dispatch)
        if run is None:
            return False
        if run.ended_at is not None:
            self._complete(run, run.ended_at)
        if run.error is not None and run.error.type == UNDELIVERED:
            self._bury(delivery, lane, DeadLetter(delivery.body, UNDELIVERED, run.error.message))
        return True

    def _ended(self, delivery: Delivery, dispatch: Dispatch) -> Run | None:
        """The run, whose row says by now how it ended; None: it is alive, perhaps."""
        claim_id = self.randomness.random_bytes(CLAIM_ID_BYTES).hex()
        row = self._inserted(delivery, dispatch, claim_id)
        for _ in range(_MOVES_FOLLOWED):
            # A run that waits is its waiting message's: only when nobody came for it is it settled here.
            decision = decide_claim(
                row,
                claim_id=claim_id,
                generation=dispatch.generation,
                now=self.clock.now(),
                clock_bound_ms=self.settings.clock_bound_ms,
                early_ms=-self.settings.clock_bound_ms,
            )
            match decision:
                case TakeOver():
                    ended = self._failed(row, delivery, decision, claim_id)
                    moved = self.run_store.take_over(ended, seen=row)
                    if moved is None:
                        self.announcements.add([run_is_over(ended)])
                        return ended
                    row = moved
                case HideUntil(instant=instant):
                    self._hide(delivery, instant)
                    return None
                case Duplicate(run=run):
                    return run
                case _:
                    return row
        self._hide(delivery, self.clock.now())
        return None

    def _inserted(self, delivery: Delivery, dispatch: Dispatch, claim_id: str) -> Run:
        """The row of the run: FAILED from the start if there was none."""
        now = self.clock.now()
        run = replace(
            dispatch.row(RunStatus.FAILED),
            claim_id=claim_id,
            ended_at=now,
            error=_error(delivery),
            expires_at=Instant(now + self.settings.run_retention_ms),
        )
        [existing] = self.run_store.insert([run])
        if isinstance(existing, StoreError):
            raise existing
        if existing is None:
            self.announcements.add([run_is_over(run)])
        return run if existing is None else existing

    def _failed(self, row: Run, delivery: Delivery, decision: TakeOver, claim_id: str) -> Run:
        now = self.clock.now()
        was_cancelled = row.cancel_requested_at is not None
        return replace(
            row,
            status=RunStatus.CANCELLED if was_cancelled else RunStatus.FAILED,
            token=decision.token,
            claim_id=claim_id,
            attempts=(lost_attempt(row),) if row.status is RunStatus.RUNNING else (),
            ended_at=now,
            reason="cancelled" if was_cancelled else None,
            error=None if was_cancelled else _error(delivery),
            expires_at=Instant(now + self.settings.run_retention_ms),
        )

    def _complete(self, run: Run, ended_at: Instant) -> None:
        job = self.job_store.get(run.job_key)
        if job is not None:
            done = complete(
                self.job_store,
                self.run_store,
                [Ended(job, run, run.status, ended_at)],
                read=self.job_store.get_many,
                now=self.clock.now(),
            )
            self.announcements.add(job_completed(each.job, at=each.ended_at) for each in done)

    def _bury(self, delivery: Delivery, lane: str, letter: DeadLetter) -> None:
        _logger.error(
            "a message was given up",
            extra={"action": "message.undelivered", "message_id": delivery.message_id, "lane": lane},
        )
        if lane in self.dead_letters:
            self.dead_letters[lane].send([letter])

    def _hide(self, delivery: Delivery, until: Instant) -> None:
        self.undelivered.hide(delivery, seconds=hidden_seconds_until(until, now=self.clock.now()))


def _error(delivery: Delivery) -> RunError:
    return RunError(
        UNDELIVERED, f"its message was given up by the queue: no worker was done with it (id {delivery.message_id})"
    )
