"""Events over Amazon EventBridge."""

from __future__ import annotations

from collections.abc import Mapping

from shared.adapters.aws.calls import Calls, Patience
from shared.adapters.aws.client import events_client
from shared.adapters.eventbridge.event_bus import BridgeEventBus
from shared.config import EVENT_BUS_VARIABLE
from shared.ports.clock import Clock, Randomness

__all__ = ["BridgeEventBus", "event_bus_from"]

#: An event is worth two tries, and one without an answer: what waits behind it is other work.
_BRIEF_PATIENCE = Patience(attempts=2, unanswered_attempts=1)


def event_bus_from(environment: Mapping[str, str], clock: Clock, randomness: Randomness) -> BridgeEventBus | None:
    """None where the environment names no bus: then nothing is told."""
    name = environment.get(EVENT_BUS_VARIABLE, "")
    return BridgeEventBus(events_client(), name, Calls(clock, randomness, _BRIEF_PATIENCE)) if name else None
