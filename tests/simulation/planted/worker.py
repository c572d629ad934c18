"""Claim, read and hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from functions.worker import claims, executor
from functions.worker.admission import Hidden, admit
from functions.worker.executor import Executor
from functions.worker.live_run import LiveRun
from functions.worker.reading import Reading
from functions.worker.watched import SLACK_SECONDS, Watched
from shared.domain import message
from shared.domain.instants import MINUTE, Instant
from shared.domain.run import Duplicate, HideUntil, Mine, TakeOver, decide_claim
from shared.domain.timing import CLOCK_BOUND_MS
from shared.ports import Delivery
from tests.simulation.planted.mutant import Mutant, Plant, instead, worker_settings


def _deciding(change: Callable[..., Any]) -> Plant:
    """The claim rule, with `change` asked first."""

    def decide(existing: Any, **given: Any) -> Any:
        return change(existing, lambda: decide_claim(existing, **given), **given)

    return instead(claims, "decide_claim", decide)


def _over_succeeded(existing: Any, decide: Callable[[], Any], *, generation: int, **_: Any) -> Any:
    if existing.status.is_final and existing.generation < generation:
        return TakeOver(existing.token + 1, existing.attempt)
    return decide()


def _drop_while_alive(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return Duplicate(existing) if isinstance(decided, HideUntil) else decided


def _lost_answer_is_an_attempt(existing: Any, decide: Callable[[], Any], **_: Any) -> Any:
    decided = decide()
    return TakeOver(existing.token + 1, existing.attempt + 1) if isinstance(decided, Mine) else decided


def _read_before_claim(stack: ExitStack) -> None:
    claim_once = Executor.claim_once
    early: dict[int, dict[str, Any]] = {}

    def claim(self: Any, deliveries: Sequence[Delivery]) -> Any:
        keys = {each.dispatch.job_key for each in deliveries if each.dispatch is not None}
        early[id(self._reading)] = self._reading.job_store.get_many(keys) if keys else {}
        return claim_once(self, deliveries)

    def read(self: Any, claimed: Sequence[LiveRun]) -> None:
        for live in claimed:
            if self._may_start(live, early[id(self)].get(live.run.job_key), self.departures.clock.monotonic()):
                self.runs.hold(live, until=live.run.fire_at)

    stack.enter_context(patch.object(Executor, "claim_once", claim))
    stack.enter_context(patch.object(Reading, "read", read))


def _never_too_early(delivery: Delivery, settings: Any, *, now: Instant, left_ms: float) -> Any:
    decision = admit(delivery, settings, now=now, left_ms=left_ms)
    return None if isinstance(decision, Hidden) and decision.reason == "early" else decision


def _taken_at_first_sight(stack: ExitStack) -> None:
    stack.enter_context(patch.object(claims, "Watched", lambda _: Watched(-SLACK_SECONDS)))
    stack.enter_context(patch.object(claims, "has_fallen_silent", lambda *_, **__: True))


REQUIRED = (
    Mutant(
        "over_succeeded",
        "what SUCCEEDED is never taken over, whatever the generation",
        _deciding(_over_succeeded),
    ),
    Mutant("dropped_alive", "the message of a live run is hidden, never deleted", _deciding(_drop_while_alive)),
    Mutant("lost_answer_attempt", "a claim whose answer was lost is one's own", _deciding(_lost_answer_is_an_attempt)),
    Mutant("read_before_claim", "the job is read after the claim", _read_before_claim),
    Mutant("row_expires", "a run row outlives its message", worker_settings(run_retention_ms=MINUTE)),
    Mutant("held_early", "a message too early is hidden, not held", instead(executor, "admit", _never_too_early)),
)
FOUND = (
    Mutant(
        "clock_bound_once",
        "a live run is taken over only past twice the clock bound: two clocks may differ by that",
        worker_settings(clock_bound_ms=CLOCK_BOUND_MS),
        worlds=lambda profile: profile.skew_ms > 0,
    ),
)
OWN = (
    Mutant(
        "taken_at_first_sight",
        "who takes over a silent run has watched it for a lease",
        _taken_at_first_sight,
        family="clocks_apart",
    ),
    Mutant(
        "next_unreadable",
        "messages of the next version are read",
        instead(message, "READABLE_VERSIONS", range(message.VERSION, message.VERSION + 1)),
        worlds=lambda profile: profile.upgrades,
    ),
)
