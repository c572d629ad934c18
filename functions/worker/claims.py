"""Claiming the runs of a batch: one insert, and the claim rule for every run whose row was there already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from functions.worker.live_run import LiveRun
from functions.worker.messages import Messages
from functions.worker.places import WAITS_FOR_PLACE
from functions.worker.settings import WorkerSettings
from functions.worker.watched import Claim, Seen, Watched
from shared.domain.errors import ItemRefused, StoreError
from shared.domain.instants import SECOND, Instant
from shared.domain.run import (
    CLAIM_ID_BYTES,
    Duplicate,
    HideUntil,
    Mine,
    Run,
    RunStatus,
    TakeOver,
    decide_claim,
    has_fallen_silent,
    lost_attempt,
)
from shared.observability.logs import logger_for
from shared.ports import Clock, Delivery, Randomness, RunStore
from shared.ports.due_queue import hidden_seconds_until

_logger = logger_for("worker")
_Answer = TypeVar("_Answer")

#: An answer that was lost is asked for again this often: the claim_id tells whether the first one counted.
_TRIES = 3
#: A message comes back about when its lease is over; and one that is watched is hidden for a lease, and this.
_WATCH_SLACK_SECONDS = 5
#: Between the read of a row and its take-over another worker may move it.
_MOVES_FOLLOWED = 3


@dataclass(slots=True)
class Claimed:
    """What a batch came to. What is in neither list is alive elsewhere or undecided; its message stays."""

    runs: list[LiveRun] = field(default_factory=list)
    #: The run has ended: the message is to be dropped.
    duplicates: list[tuple[Delivery, Run]] = field(default_factory=list)
    #: What the store would not take, or this worker cannot make sense of.
    failed: int = 0


class Claims:
    def __init__(
        self,
        run_store: RunStore,
        messages: Messages,
        *,
        clock: Clock,
        randomness: Randomness,
        settings: WorkerSettings,
        worker_id: str,
    ) -> None:
        self._run_store = run_store
        self._messages = messages
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._worker_id = worker_id
        self._watched = Watched(settings.lease_seconds)

    @property
    def watched(self) -> int:
        """Runs of other workers that are looked at again when their lease may be over."""
        return len(self._watched)

    def claim(self, deliveries: Sequence[Delivery]) -> Claimed:
        """Raises StoreError when the rows could not be inserted; the messages come again by themselves."""
        claims = [self._claim_of(delivery) for delivery in deliveries]
        rows = _answer_of(lambda: self._run_store.insert([claim.run for claim in claims]))
        claimed = Claimed()
        for claim, row in zip(claims, rows, strict=True):
            with _alone(claim, claimed):
                self._settle(claim, self._row_of(claim, row), claimed)
        return claimed

    def look_again(self) -> Claimed:
        """At the runs whose rows were watched for a lease: those that stand still are taken over. Raises StoreError;
        their messages come again by themselves.
        """
        monotonic = self._clock.monotonic()
        due = self._watched.take(monotonic)
        claimed = Claimed()
        if not due:
            return claimed
        rows = self._run_store.get_many([seen.claim.run.key for seen in due])
        for seen in due:
            row = rows.get(seen.claim.run.key)
            with _alone(seen.claim, claimed):
                if row is None:
                    # It ended, and expired: what its message still asks for is for the claim rule to say.
                    self._messages.hide(seen.claim.delivery, seconds=0)
                    continue
                is_silent = has_fallen_silent(
                    seen.row,
                    row,
                    watched_ms=seen.watched_ms(monotonic),
                    lease_ms=self._settings.lease_ms,
                    now=self._clock.now(),
                )
                self._settle(seen.claim, row, claimed, is_silent=is_silent, may_watch=False)
        return claimed

    def _row_of(self, claim: Claim, row: Run | StoreError | None) -> Run | None:
        """Raises StoreError for a row that was not taken alone."""
        for _ in range(_TRIES - 1):
            if not isinstance(row, StoreError) or isinstance(row, ItemRefused):
                break
            [row] = self._run_store.insert([claim.run])
        if isinstance(row, StoreError):
            raise row
        return row

    def _claim_of(self, delivery: Delivery) -> Claim:
        dispatch = delivery.dispatch
        assert dispatch is not None
        now = self._clock.now()
        run = replace(
            dispatch.row(RunStatus.RUNNING),
            claim_id=self._randomness.random_bytes(CLAIM_ID_BYTES).hex(),
            worker_id=self._worker_id,
            lease_until=Instant(now + self._settings.lease_ms),
            received_at=delivery.received_at,
            claimed_at=now,
        )
        return Claim(delivery, dispatch, run)

    def _settle(
        self, claim: Claim, row: Run | None, claimed: Claimed, *, is_silent: bool = False, may_watch: bool = True
    ) -> None:
        """`is_silent`: the holder of `row` was watched, and may be taken for dead."""
        run = claim.run
        for _ in range(_MOVES_FOLLOWED):
            if row is None:
                claimed.runs.append(self._live(claim, run))
                return
            decision = decide_claim(
                row,
                claim_id=run.claim_id,
                generation=run.generation,
                now=self._clock.now(),
                clock_bound_ms=0 if is_silent else self._settings.clock_bound_ms,
                early_ms=self._settings.early_ms,
            )
            match decision:
                case Mine(run=stored):
                    claimed.runs.append(self._live(claim, stored))
                    return
                case Duplicate(run=ended):
                    claimed.duplicates.append((claim.delivery, ended))
                    return
                case HideUntil(instant=instant):
                    seconds = hidden_seconds_until(instant, now=self._clock.now())
                    if may_watch and row.status is RunStatus.RUNNING and self._watches(claim, row):
                        seconds = self._settings.visibility_seconds + _WATCH_SLACK_SECONDS
                    self._messages.hide(claim.delivery, seconds=seconds)
                    return
                case TakeOver():
                    run = self._successor(run, row, decision)
                    row, is_silent = self._take_over(run, row), False
        self._messages.hide(claim.delivery, seconds=1)

    def _watches(self, claim: Claim, row: Run) -> bool:
        """Of one that has just been read, if its lease is about to run out: else its worker lives, for all we know."""
        is_over = row.lease_until <= self._clock.now() + _WATCH_SLACK_SECONDS * SECOND
        return is_over and self._watched.add(Seen(claim, row, self._clock.monotonic()))

    def _successor(self, run: Run, seen: Run, decision: TakeOver) -> Run:
        now = self._clock.now()
        claimed = replace(
            run,
            token=decision.token,
            attempt=decision.attempt,
            payload_json=seen.payload_json,
            attempts=seen.attempts,
            attempts_before=seen.attempts_before,
            tried_since=seen.tried_since,
            cancel_requested_at=seen.cancel_requested_at,
            claimed_at=now,
            lease_until=Instant(now + self._settings.lease_ms),
            trace=run.trace or seen.trace,
        )
        if seen.status is RunStatus.RUNNING:
            return replace(
                claimed,
                attempts=(*seen.attempts, lost_attempt(seen)),
                tried_since=seen.tried_since or seen.started_at or seen.claimed_at,
            )
        if seen.status is RunStatus.WAITING:
            # Held until then, and late only from then on. Who waits for a place has waited since its first message.
            since = seen.enqueued_at if seen.reason in WAITS_FOR_PLACE else run.enqueued_at
            return replace(claimed, fire_at=Instant(max(run.fire_at, seen.lease_until)), enqueued_at=since)
        return claimed

    def _take_over(self, run: Run, seen: Run) -> Run | None:
        row = _answer_of(lambda: self._run_store.take_over(run, seen=seen))
        if row is None:
            _logger.info(
                "took over a run",
                extra={"action": "run.take_over", "run": run.key, "token": run.token, "from": seen.worker_id},
            )
        return row

    def _live(self, claim: Claim, run: Run) -> LiveRun:
        # The lease counts from when it was written down, on this host's clock and before the write.
        monotonic = self._clock.monotonic()
        left_ms = min(run.lease_until - self._clock.now(), self._settings.lease_ms)
        return LiveRun(
            run=run,
            delivery=claim.delivery,
            dispatch=claim.dispatch,
            # What was there before, taken over or perhaps, may have waited.
            is_listed=run is not claim.run or (run.claimed_at is not None and run.is_late_at(run.claimed_at)),
            trusted_until=monotonic + left_ms / SECOND,
            renew_until=monotonic + (left_ms - self._settings.lease_ms + self._settings.beats_after_ms) / SECOND,
        )


@contextmanager
def _alone(claim: Claim, claimed: Claimed) -> Iterator[None]:
    """Whatever goes wrong with it: the others of the batch are claimed already and must not be lost with it."""
    try:
        yield
    except Exception:
        claimed.failed += 1
        _logger.exception(
            "a run could not be claimed; its message comes again",
            extra={"action": "run.claim", "run": claim.run.key, "message_id": claim.delivery.message_id},
        )


def _answer_of(call: Callable[[], _Answer]) -> _Answer:
    for _ in range(_TRIES - 1):
        try:
            return call()
        except StoreError as error:
            _logger.warning("asking again", extra={"action": "run.claim", "error": str(error)})
    return call()
