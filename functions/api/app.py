"""The Lambda's entry point: imports at its start, where they are cheap; the stores at the first call."""

from __future__ import annotations

from functools import cache
from typing import Any

from functions.api import wiring
from functions.api.resolving import Event, Handler, build
from functions.api.tracing import traced


@cache
def _of_process() -> Handler:
    return traced(build(wiring.backend()), wiring.traces(), wiring.trace_of_invocation)


def handler(event: Event, context: Any) -> dict[str, Any]:
    return _of_process()(event, context)
