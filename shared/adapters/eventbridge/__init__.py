"""Events over Amazon EventBridge."""

from shared.adapters.eventbridge.event_bus import BridgeEventBus

__all__ = ["BridgeEventBus"]
