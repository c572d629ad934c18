"""Which of the delivered messages are claimed now, decided before anything is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from functions.worker.settings import WorkerSettings
from shared.domain.instants import SECOND, Instant
from shared.domain.limits import MIN_TIMEOUT_MS
from shared.ports import Delivery
from shared.ports.due_queue import LONGEST_HIDDEN_SECONDS

Reason = Literal["unreadable", "early", "host_ends"]


@dataclass(frozen=True, slots=True)
class Hidden:
    """Not claimed: the message is shown again after `seconds`."""

    seconds: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Buried:
    """Nobody will ever claim it: it is a dead letter."""

    why: str


def admit(delivery: Delivery, settings: WorkerSettings, *, now: Instant, left_ms: float) -> Hidden | Buried | None:
    """None when the message is to be claimed. `left_ms` is how long this host will live."""
    dispatch = delivery.dispatch
    if dispatch is None:
        if not delivery.is_newer:
            return Buried("it is no dispatch of any version")
        if delivery.receive_count >= settings.unreadable_looks:
            return Buried("it is of a later version than that of any worker which met it, for some minutes")
        return Hidden(settings.unreadable_hidden_ms // SECOND, "unreadable")
    early_ms = dispatch.fire_at - now
    if early_ms > settings.longest_lead_ms + settings.hold_slack_ms:
        return Hidden(min((early_ms - settings.lead_ms) // SECOND, LONGEST_HIDDEN_SECONDS), "early")
    # The job's own time-out is not known before the claim; the shortest there is must fit.
    if max(early_ms, 0) + MIN_TIMEOUT_MS > left_ms:
        return Hidden(0, "host_ends")
    return None
