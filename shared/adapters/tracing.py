"""Which traces a process keeps: none, unless its environment asks for some."""

from __future__ import annotations

from collections.abc import Mapping

from shared.config import TRACES_ENDPOINT_VARIABLE, deployment, region, required, traced_share
from shared.ports.traces import NoTraces, Traces


def traces_from(environment: Mapping[str, str], *, service: str) -> Traces:
    """Raises ConfigurationMissing, ValueError."""
    share = traced_share(environment)
    if not share:
        return NoTraces()
    # Here, not above: whoever does not trace pays nothing for it, and need not even have it installed.
    from shared.adapters.otel import OtelTraces, provider_of  # noqa: PLC0415

    provider = provider_of(
        endpoint=required(environment, TRACES_ENDPOINT_VARIABLE),
        service=service,
        deployment=deployment(environment),
        share=share,
        region=region(environment),
    )
    return OtelTraces(provider)
