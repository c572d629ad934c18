"""Traces by OpenTelemetry. Imported only where they are asked for: it takes a quarter of a second of a cold start."""

from shared.adapters.otel.export import provider_of
from shared.adapters.otel.spans import OtelTraces

__all__ = ["OtelTraces", "provider_of"]
